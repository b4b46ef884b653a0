import type { EndpointScope } from '../domain/endpoint-scope.ts';
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
  scope?: EndpointScope,
): Promise<StoredEvent | undefined> {
  const where = withinScope(new Where().add('id = ?', id).add('project_id = ?', projectId), scope);
  const [row] = await db.query<StoredEvent>(
    `select ${COLUMNS} from events where ${where.toString()}`,
    where.values,
  );
  return row;
}

/** An event names at most this many of the endpoints it went to; beyond, its deliveries tell. */
const NAMED_ENDPOINTS = 1000;

function withinScope(where: Where, scope: EndpointScope | undefined): Where {
  if (scope === undefined) return where;
  const ids = [...scope.endpointIds];
  return where.add(
    `endpoints && ?::text[] or (cardinality(endpoints) >= ${NAMED_ENDPOINTS} and exists (
       select from event_deliveries d where d.event_id = events.id and d.endpoint_id = any(?)))`,
    ids,
    ids,
  );
}

export interface EventFilter {
  page: PageRequest;
  scope?: EndpointScope | undefined;
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
  withinScope(where, filter.scope);
  return listPage(db, { select: COLUMNS, from: 'events', where, page: filter.page, id: 'id' });
}

/**
 * The latest events, newest first: at most `limit`, and no more than have `maxBytes` of payload together, but one at
 * least. Sizes are known without reading the payloads, so that those left out cost nothing.
 */
export async function latestEvents(
  db: Queryable,
  projectId: string,
  wanted: { limit: number; maxBytes: number; scope?: EndpointScope | undefined },
): Promise<{ events: StoredEvent[]; isCut: boolean }> {
  const where = withinScope(new Where().add('project_id = ?', projectId), wanted.scope);
  const limit = where.values.push(wanted.limit);
  const maxBytes = where.values.push(wanted.maxBytes);
  const rows = await db.query<StoredEvent & { found: number }>(
    `select ${COLUMNS}, found from (
       select *, count(*) over ()::int as found, row_number() over latest as place,
         sum(octet_length(payload)) over latest as bytes
       from (select ${COLUMNS} from events where ${where.toString()} order by id desc limit $${limit}) e
       window latest as (order by id desc)
     ) sized where place = 1 or bytes <= $${maxBytes} order by id desc`,
    where.values,
  );
  return { events: rows, isCut: rows.length < (rows[0]?.found ?? 0) };
}
