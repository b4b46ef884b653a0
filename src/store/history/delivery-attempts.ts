import type { Queryable } from '../database/database.ts';

export interface StoredAttempt {
  id: string;
  delivery_id: string;
  project_id: string;
  endpoint_id: string;
  url: string;
  ip_address: string | null;
  http_status: string | null;
  error: string | null;
  succeeded: boolean;
  is_stale: boolean;
  request_headers: string;
  response_headers: string | null;
  response_body: Buffer | null;
  timings: string;
  requested_at: number;
  responded_at: number | null;
}

const COLUMNS =
  'id, delivery_id, project_id, endpoint_id, url, ip_address, http_status, error, succeeded, is_stale, request_headers, response_headers, response_body, timings, requested_at, responded_at';

/** Oldest first. */
export function listAttempts(db: Queryable, projectId: string, deliveryId: string): Promise<StoredAttempt[]> {
  return db.query<StoredAttempt>(
    `select ${COLUMNS} from delivery_attempts where delivery_id = $1 and project_id = $2 order by id`,
    [deliveryId, projectId],
  );
}

export async function getAttempt(
  db: Queryable,
  projectId: string,
  attempt: { deliveryId: string; id: string },
): Promise<StoredAttempt | undefined> {
  const [row] = await db.query<StoredAttempt>(
    `select ${COLUMNS} from delivery_attempts where delivery_id = $1 and id = $2 and project_id = $3`,
    [attempt.deliveryId, attempt.id, projectId],
  );
  return row;
}
