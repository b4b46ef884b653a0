import type { Database, Queryable } from '../database/database.ts';
import { tellNodes } from '../database/tell-nodes.ts';

export interface ApiKeyRow {
  id: string;
  /** Null: the instance key. */
  project_id: string | null;
  name: string;
  mask: string;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

const COLUMNS = 'id, project_id, name, mask, expires_at, last_used_at, revoked_at';

export async function insertApiKey(
  tx: Queryable,
  key: {
    id: string;
    projectId: string | null;
    name: string;
    mask: string;
    hash: Buffer;
    expiresAtMs: number | null;
  },
): Promise<ApiKeyRow> {
  const [row] = await tx.query<ApiKeyRow>(
    `insert into api_keys (id, project_id, name, mask, hash, expires_at)
     values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000)) returning ${COLUMNS}`,
    [key.id, key.projectId, key.name, key.mask, key.hash, key.expiresAtMs],
  );
  return row as ApiKeyRow;
}

const FIND = `
with found as materialized (
  select ${COLUMNS}, hash, coalesce(last_used_at > now() - interval '1 minute', false) as is_recent
  from api_keys
  where hash = any($1::bytea[]) and revoked_at is null and (expires_at is null or expires_at > now())
), used as (
  update api_keys set last_used_at = now()
  -- never waits: whoever holds the row is recording its use or revoking it
  where id = any(array(
    select k.id from api_keys k
    where k.id = any(array(select id from found where not is_recent)) for update skip locked))
)
select * from found`;

/**
 * The live keys with these hashes, in their order. A lookup records the use, to the minute. It uses the pool
 * of accept and finish, so that callers are authenticated while the other connections are busy.
 */
export async function findApiKeys(
  db: Database,
  hashes: readonly Buffer[],
): Promise<(ApiKeyRow | undefined)[]> {
  const rows = await db.hot<ApiKeyRow & { hash: Buffer }>('find-keys', FIND, [hashes]);
  const byHash = new Map(rows.map((row) => [row.hash.toString('hex'), row]));
  return hashes.map((hash) => byHash.get(hash.toString('hex')));
}

export function listApiKeys(db: Queryable, projectId: string): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(
    `select ${COLUMNS} from api_keys where project_id = $1 and revoked_at is null order by id desc`,
    [projectId],
  );
}

/** Undefined if there was no such key to revoke. Other nodes are notified at commit. */
export async function revokeApiKey(
  tx: Queryable,
  projectId: string,
  id: string,
): Promise<ApiKeyRow | undefined> {
  const [row] = await tx.query<ApiKeyRow>(
    `update api_keys set revoked_at = now()
     where id = $1 and project_id = $2 and revoked_at is null returning ${COLUMNS}`,
    [id, projectId],
  );
  await tellNodes(tx, projectId);
  return row;
}
