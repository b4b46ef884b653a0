import type { EndpointScope } from '../domain/endpoint-scope.ts';
import { firstIdAt } from '../domain/ids.ts';
import type { Page, PageRequest } from '../domain/pagination.ts';
import type { Queryable } from './database.ts';
import { listPage, Where } from './list-page.ts';

/** A delivery with what its event contributes to it. */
export interface StoredDelivery {
  id: string;
  project_id: string;
  event_id: string;
  endpoint_id: string;
  subscription_id: string | null;
  event_type: string;
  status: string;
  description: string | null;
  delivery_mode: string;
  strategy: string;
  interval_seconds: number;
  max_retry_seconds: number;
  retry_limit: number;
  num_trials: number;
  next_send_at: number | null;
  latency_ms: number | null;
  body: Buffer | null;
  updated_at: number;
  payload: Buffer;
  content_type: string | null;
  headers: string | null;
  idempotency_key: string | null;
  url_query_params: string | null;
  source_id: string | null;
  acknowledged_at: number;
}

const SELECT = `d.id, d.project_id, d.event_id, d.endpoint_id, d.subscription_id, d.event_type, d.status, d.description,
  d.delivery_mode, d.strategy, d.interval_seconds, d.max_retry_seconds, d.retry_limit, d.num_trials, d.next_send_at,
  d.latency_ms, d.body, d.updated_at, e.payload, e.content_type, e.headers, e.idempotency_key, e.url_query_params,
  e.source_id, e.acknowledged_at`;
const FROM = 'event_deliveries d join events e on e.id = d.event_id';

export async function getDelivery(
  db: Queryable,
  projectId: string,
  id: string,
): Promise<StoredDelivery | undefined> {
  const [row] = await db.query<StoredDelivery>(
    `select ${SELECT} from ${FROM} where d.id = $1 and d.project_id = $2`,
    [id, projectId],
  );
  return row;
}

export interface DeliveryFilter {
  page: PageRequest;
  scope?: EndpointScope | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
  endpointIds?: string[];
  eventId?: string | undefined;
  subscriptionId?: string | undefined;
  eventType?: string | undefined;
  statuses?: string[];
  idempotencyKey?: string | undefined;
}

export function listDeliveries(
  db: Queryable,
  projectId: string,
  filter: DeliveryFilter,
): Promise<Page<StoredDelivery>> {
  const where = new Where()
    .add('d.project_id = ?', projectId)
    .within('d.endpoint_id', filter.scope)
    .addIf('d.id >= ?', filter.fromMs === undefined ? undefined : firstIdAt(filter.fromMs))
    .addIf('d.id < ?', filter.toMs === undefined ? undefined : firstIdAt(filter.toMs + 1))
    .addIf('d.endpoint_id = any(?)', filter.endpointIds)
    .addIf('d.event_id = ?', filter.eventId)
    .addIf('d.subscription_id = ?', filter.subscriptionId)
    .addIf('d.event_type = ?', filter.eventType)
    .addIf('d.status = any(?)', filter.statuses)
    .addIf('e.idempotency_key = ?', filter.idempotencyKey);
  return listPage(db, { select: SELECT, from: FROM, where, page: filter.page, id: 'd.id' });
}

/** How many deliveries of some dates are in each state. */
export async function countDeliveriesByStatus(
  db: Queryable,
  projectId: string,
  filter: Pick<DeliveryFilter, 'scope' | 'fromMs' | 'toMs' | 'endpointIds'>,
): Promise<{ status: string; count: number }[]> {
  const where = new Where()
    .add('d.project_id = ?', projectId)
    .within('d.endpoint_id', filter.scope)
    .addIf('d.id >= ?', filter.fromMs === undefined ? undefined : firstIdAt(filter.fromMs))
    .addIf('d.id < ?', filter.toMs === undefined ? undefined : firstIdAt(filter.toMs + 1))
    .addIf('d.endpoint_id = any(?)', filter.endpointIds);
  return db.query(
    `select d.status, count(*) as count from event_deliveries d where ${where.toString()} group by d.status`,
    where.values,
  );
}
