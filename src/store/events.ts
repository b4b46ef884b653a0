import { firstIdAt } from '../domain/ids.ts';
import type { Page, PageRequest } from '../domain/pagination.ts';
import type { Queryable } from './database.ts';
import { listPage, Where } from './list-page.ts';

export interface StoredEvent {
  id: string;
  project_id: string;
  event_type: string;
  source_id: string | null;
  app_id: string | null;
  status: string;
  failure_reason: string | null;
  is_duplicate: boolean;
  idempotency_key: string | null;
  endpoints: string[];
  headers: string | null;
  payload: Buffer;
  content_type: string | null;
  url_query_params: string | null;
  url_path: string | null;
  metadata: string | null;
  acknowledged_at: number;
}

const COLUMNS =
  'id, project_id, event_type, source_id, app_id, status, failure_reason, is_duplicate, idempotency_key, endpoints, headers, payload, content_type, url_query_params, url_path, metadata, acknowledged_at';

export async function getEvent(
  db: Queryable,
  projectId: string,
  id: string,
): Promise<StoredEvent | undefined> {
  const [row] = await db.query<StoredEvent>(
    `select ${COLUMNS} from events where id = $1 and project_id = $2`,
    [id, projectId],
  );
  return row;
}

export interface EventFilter {
  page: PageRequest;
  fromMs?: number | undefined;
  toMs?: number | undefined;
  endpointIds?: string[];
  sourceIds?: string[];
  idempotencyKey?: string | undefined;
}

export function listEvents(
  db: Queryable,
  projectId: string,
  filter: EventFilter,
): Promise<Page<StoredEvent>> {
  const where = new Where()
    .add('project_id = ?', projectId)
    .addIf('id >= ?', filter.fromMs === undefined ? undefined : firstIdAt(filter.fromMs))
    .addIf('id < ?', filter.toMs === undefined ? undefined : firstIdAt(filter.toMs + 1))
    .addIf('endpoints && ?::text[]', filter.endpointIds)
    .addIf('source_id = any(?)', filter.sourceIds)
    .addIf('idempotency_key = ?', filter.idempotencyKey);
  return listPage(db, { select: COLUMNS, from: 'events', where, page: filter.page, id: 'id' });
}
