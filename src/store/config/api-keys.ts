import type { Database, Queryable } from '../database/database.ts';
import { lookUp } from '../database/look-up.ts';

export interface ApiKeyRow {
  id: string;
  /** Null: the instance key. */
  project_id: string | null;
  name: string;
  mask: string;
  role: string;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

export interface FoundKey extends ApiKeyRow {
  /** Its project is in another cell, and so is the key that counts. */
  has_moved: boolean;
}

export const API_KEY_COLUMNS = 'id, project_id, name, mask, role, expires_at, last_used_at, revoked_at';

const FOUND = `
with found as materialized (
  select ${API_KEY_COLUMNS}, hash, coalesce(last_used_at > now() - interval '1 minute', false) as is_recent,
    exists (select from projects p where p.id = project_id and p.cell_state = 'moved') as has_moved
  from api_keys
  where hash = any($1::bytea[]) and revoked_at is null and (expires_at is null or expires_at > now())
)`;

/**
 * The live keys with these hashes, in their order. A lookup records the use, to the minute. It uses the pool
 * of accept and finish, so that callers are authenticated while the other connections are busy.
 */
export const findApiKeys = (db: Database, hashes: readonly Buffer[]): Promise<(FoundKey | undefined)[]> =>
  lookUp(db, { name: 'find-keys', table: 'api_keys', found: FOUND }, [hashes]);

export function listApiKeys(db: Queryable, projectId: string): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(
    `select ${API_KEY_COLUMNS} from api_keys where project_id = $1 and revoked_at is null order by id desc`,
    [projectId],
  );
}
