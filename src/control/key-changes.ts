import { type Actor, changeOf } from '../domain/audit.ts';
import { found } from '../domain/errors.ts';
import type { Role } from '../domain/role.ts';
import { randomText } from '../platform/random.ts';
import { audited, insertAudit } from '../store/audit/audit-entries.ts';
import { onceIn } from '../store/audit/once.ts';
import { insertApiKey, revokeApiKey } from '../store/changes/api-key-writes.ts';
import type { ApiKeyRow } from '../store/config/api-keys.ts';
import type { Queryable } from '../store/database/database.ts';
import type { Author, ConfigChanges } from './config-changes.ts';

const MASK_CHARS = 16;
const SECRET_CHARS = 64;

export interface NewKey {
  /** null: the instance itself. */
  projectId: string | null;
  actor: Actor;
  name: string;
  /** `admin` if it is not given. */
  role?: Role;
  expiresAtMs: number | null;
}

/** A key and its row. The key can be shown this once. */
export interface CreatedKey {
  row: ApiKeyRow;
  key: string;
}

export function createKey(changes: ConfigChanges, wanted: NewKey): Promise<CreatedKey> {
  return changes.deps.db.transaction((tx) =>
    onceIn(tx, wanted.actor, async () => {
      const result = await addKey(changes, tx, wanted);
      return { result, ids: [result.row.id], secret: result.key };
    }),
  );
}

/** Creates a key in a transaction that does more. Only its keyed hash is stored. */
export async function addKey({ deps }: ConfigChanges, tx: Queryable, wanted: NewKey): Promise<CreatedKey> {
  const { actor, role = 'admin', ...fields } = wanted;
  const { ids, sealer } = deps;
  const mask = randomText(MASK_CHARS);
  const key = `CO.${mask}.${randomText(SECRET_CHARS)}`;
  const row = await insertApiKey(tx, { id: ids.next(), mask, hash: sealer.lookupHash(key), role, ...fields });
  await insertAudit(tx, { ids, actor, projectId: row.project_id }, [changeOf('key.created', null, row)]);
  return { row, key };
}

export function revokeKey(changes: ConfigChanges, by: Author, id: string): Promise<null> {
  return changes.endingAccess(by.projectId, () =>
    audited(changes.deps, by, async (tx) => {
      const key = found(await revokeApiKey(tx, by.projectId, id), 'key', id);
      const before = { ...key, revoked_at: null };
      return { result: null, audit: [changeOf('key.revoked', before, null)] };
    }),
  );
}
