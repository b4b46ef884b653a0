import { type Actor, changeOf } from '../../domain/audit.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { randomText } from '../../platform/random.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { type ApiKeyRow, insertApiKey } from '../../store/config/api-keys.ts';
import { insertAudit } from '../../store/config/audit-entries.ts';
import type { Queryable } from '../../store/database/database.ts';

const MASK_CHARS = 16;
const SECRET_CHARS = 64;

/** Makes an API key, in a transaction. Only its keyed hash is stored, so the key itself can be shown this once. */
export async function createKey(
  tx: Queryable,
  deps: { ids: IdFactory; sealer: Sealer; actor: Actor },
  wanted: { projectId: string | null; name: string; expiresAtMs: number | null },
): Promise<{ row: ApiKeyRow; key: string }> {
  const mask = randomText(MASK_CHARS);
  const key = `CO.${mask}.${randomText(SECRET_CHARS)}`;
  const row = await insertApiKey(tx, {
    id: deps.ids.next(),
    mask,
    hash: deps.sealer.lookupHash(key),
    ...wanted,
  });
  const { ids, actor } = deps;
  await insertAudit(tx, { ids, actor, projectId: row.project_id }, [changeOf('key.created', null, row)]);
  return { row, key };
}
