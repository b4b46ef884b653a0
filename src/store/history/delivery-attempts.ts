import type { ProjectId } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import { MAX_PAGE_BYTES } from '../database/list-page.ts';

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

/** False: its headers and the body of its response are left out of the list. */
export type ListedAttempt = StoredAttempt & { is_whole: boolean };

const LISTED = `id, delivery_id, project_id, endpoint_id, url, ip_address, http_status, error, succeeded, is_stale,
  case when is_whole then request_headers else '{}' end as request_headers,
  case when is_whole then response_headers end as response_headers,
  case when is_whole then response_body end as response_body, timings, requested_at, responded_at, is_whole`;

/**
 * Oldest first. A delivery has up to 1,000 attempts, each with up to 50 KiB of a response. The latest are whole, up to
 * MAX_PAGE_BYTES together. Sizes are known without reading the values.
 */
export function listAttempts(
  db: Queryable,
  projectId: ProjectId,
  deliveryId: string,
): Promise<ListedAttempt[]> {
  return db.query<ListedAttempt>(
    `select ${LISTED} from (
       select ${COLUMNS}, row_number() over latest = 1 or sum(
           octet_length(request_headers) + coalesce(octet_length(response_headers), 0)
             + coalesce(octet_length(response_body), 0)
         ) over latest <= ${MAX_PAGE_BYTES} as is_whole
       from delivery_attempts where delivery_id = $1 and project_id = $2
       window latest as (order by id desc)
     ) a order by id`,
    [deliveryId, projectId],
  );
}

/** The last attempt of each delivery that has one. */
export function lastAttempts(
  db: Queryable,
  projectId: string,
  deliveryIds: readonly string[],
): Promise<StoredAttempt[]> {
  return db.query<StoredAttempt>(
    `select a.* from unnest($2::text[]) d(id) cross join lateral (
       select ${COLUMNS} from delivery_attempts where project_id = $1 and delivery_id = d.id order by id desc limit 1
     ) a`,
    [projectId, deliveryIds],
  );
}

export async function getAttempt(
  db: Queryable,
  projectId: ProjectId,
  attempt: { deliveryId: string; id: string },
): Promise<StoredAttempt | undefined> {
  const [row] = await db.query<StoredAttempt>(
    `select ${COLUMNS} from delivery_attempts where delivery_id = $1 and id = $2 and project_id = $3`,
    [attempt.deliveryId, attempt.id, projectId],
  );
  return row;
}
