import type { DeliveryStatus } from '../../domain/delivery.ts';
import { firstIdAt, type MetaEventId, type ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { type RetryColumns, retryFields } from '../database/retry-columns.ts';

export interface MetaEventRow extends RetryColumns {
  id: MetaEventId;
  project_id: ProjectId;
  event_type: string;
  status: DeliveryStatus;
  description: string | null;
  payload: Buffer;
  num_trials: number;
  next_send_at: number | null;
  http_status: string | null;
  error: string | null;
  request_headers: string | null;
  response_headers: string | null;
  response_body: Buffer | null;
  updated_at: number;
}

export const META_EVENT_COLUMNS = `id, project_id, event_type, status, description, payload, ${retryFields('meta_events')}, num_trials, next_send_at, http_status, error, request_headers, response_headers, response_body, updated_at`;

export async function getMetaEvent(
  db: Queryable,
  projectId: ProjectId,
  id: string,
): Promise<MetaEventRow | undefined> {
  const [row] = await db.query<MetaEventRow>(
    `select ${META_EVENT_COLUMNS} from meta_events where id = $1 and project_id = $2`,
    [id, projectId],
  );
  return row;
}

export function listMetaEvents(
  db: Queryable,
  projectId: string,
  filter: { page: PageRequest; fromMs: number | undefined; toMs: number | undefined },
): Promise<Page<MetaEventRow>> {
  const where = new Where()
    .add('project_id = ?', projectId)
    .addIf('id >= ?', filter.fromMs === undefined ? undefined : firstIdAt(filter.fromMs))
    .addIf('id < ?', filter.toMs === undefined ? undefined : firstIdAt(filter.toMs + 1));
  const bytes = 'octet_length(payload) + coalesce(octet_length(response_body), 0)';
  return listPage(db, {
    select: META_EVENT_COLUMNS,
    from: 'meta_events',
    where,
    page: filter.page,
    id: 'id',
    bytes,
  });
}
