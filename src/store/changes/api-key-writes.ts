import type { Role } from '../../domain/role.ts';
import { API_KEY_COLUMNS, type ApiKeyRow } from '../config/api-keys.ts';
import type { Queryable } from '../database/database.ts';
import { notifyNodes } from '../database/notify-nodes.ts';

export async function insertApiKey(
  tx: Queryable,
  key: {
    id: string;
    projectId: string | null;
    name: string;
    mask: string;
    role: Role;
    hash: Buffer;
    expiresAtMs: number | null;
  },
): Promise<ApiKeyRow> {
  const [row] = await tx.query<ApiKeyRow>(
    `insert into api_keys (id, project_id, name, mask, role, hash, expires_at)
     values ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000)) returning ${API_KEY_COLUMNS}`,
    [key.id, key.projectId, key.name, key.mask, key.role, key.hash, key.expiresAtMs],
  );
  return row as ApiKeyRow;
}

/** Undefined if there was no such key to revoke. Other nodes are notified at commit. */
export async function revokeApiKey(
  tx: Queryable,
  projectId: string,
  id: string,
): Promise<ApiKeyRow | undefined> {
  const [row] = await tx.query<ApiKeyRow>(
    `update api_keys set revoked_at = now()
     where id = $1 and project_id = $2 and revoked_at is null returning ${API_KEY_COLUMNS}`,
    [id, projectId],
  );
  await notifyNodes(tx, projectId);
  return row;
}
