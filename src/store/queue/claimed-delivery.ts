import type { DeliveryMode, LeasedDelivery, QueueKey } from '../../domain/delivery.ts';
import {
  asId,
  type EndpointId,
  type EventId,
  idTime,
  type ProjectId,
  type SourceId,
  type SubscriptionId,
} from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import { modeField, type RetryColumns, retryFields, retryOf } from '../database/retry-columns.ts';

/** A row of the queue that this node has taken. */
export interface TakenRow {
  /** The id of a delivery or a meta event. */
  delivery_id: string;
  event_id: EventId;
  project_id: ProjectId;
  key: QueueKey;
  lane: number;
  fence: number;
  is_started: boolean;
  is_second_request: boolean;
  late_ms: number;
  /** A consumer had taken it, and its lease ended. */
  pulled_at: number | null;
  pulled_headers: string | null;
  ordering_id: string | null;
  place: number | null;
}

/** A delivery of such a row, with everything the dispatcher needs. */
export interface ClaimedDeliveryRow extends TakenRow, RetryColumns {
  endpoint_id: EndpointId;
  subscription_id: SubscriptionId | null;
  event_type: string;
  delivery_mode: DeliveryMode;
  num_trials: number;
  budget_from: number;
  body: Buffer | null;
  function_request: string | null;
  /** Null: the delivery has a body of its own. */
  payload: Buffer | null;
  content_type: string | null;
  headers: string | null;
  url_query_params: string | null;
  idempotency_key: string | null;
  acknowledged_at: number;
  source_id: SourceId | null;
  deliver_at: number | null;
  expires_at: number | null;
  is_replay: boolean | null;
}

/** The columns of a delivery and its event that an attempt needs, without the bodies. */
export const CLAIMED_FIELDS = `d.endpoint_id, d.subscription_id, d.event_type, ${modeField('d')}, ${retryFields('d')},
    d.num_trials, d.budget_from,
    e.content_type, coalesce(e.forwarded_headers, e.headers) as headers, e.url_query_params,
    e.idempotency_key, e.acknowledged_at, e.source_id, e.deliver_at, d.expires_at, d.is_replay,
    d.function_request`;
export const CLAIMED_COLUMNS = `${CLAIMED_FIELDS}, d.body, case when d.body is null then e.payload end as payload`;
export const CLAIMED_JOIN = `join event_deliveries d on ${byKey('d.id', 'leased.delivery_id')}
  join events e on ${byKey('e.id', 'leased.event_id')}`;

export function fromRow(row: ClaimedDeliveryRow): LeasedDelivery {
  return {
    kind: 'delivery',
    id: asId(row.delivery_id),
    fence: row.fence,
    key: row.key,
    lane: row.lane,
    projectId: row.project_id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    target: row.endpoint_id,
    subscriptionId: row.subscription_id,
    orderingId: row.ordering_id,
    isPlaced: row.ordering_id === null || row.place !== null,
    sourceId: row.source_id,
    eventType: row.event_type,
    deliveryMode: row.delivery_mode,
    retry: retryOf(row),
    numTrials: row.num_trials,
    budgetFrom: row.budget_from,
    body: (row.body ?? row.payload) as Buffer,
    hasOwnBody: row.body !== null,
    isReplay: row.is_replay === true,
    functionRequest: row.function_request,
    isStarted: row.is_started,
    pulled: row.pulled_at === null ? null : { atMs: row.pulled_at, headers: row.pulled_headers ?? '{}' },
    isSecondRequest: row.is_second_request,
    probeFence: null,
    contentType: row.content_type,
    headers: row.headers,
    urlQueryParams: row.url_query_params,
    idempotencyKey: row.idempotency_key,
    acknowledgedAtMs: row.acknowledged_at,
    acceptedAtMs: Math.max(idTime(row.event_id), row.deliver_at ?? 0),
    expiresAtMs: row.expires_at,
    dueAt: performance.now() - row.late_ms,
  };
}
