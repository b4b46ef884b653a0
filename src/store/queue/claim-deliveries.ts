import {
  BATCH_LANE,
  type DeliveryMode,
  type LeasedDelivery,
  type QueueKey,
  WAITS_FOR_TURN,
} from '../../domain/delivery.ts';
import type { QueueRowKey } from '../../domain/delivery-sink.ts';
import {
  asId,
  type EndpointId,
  idTime,
  type ProjectId,
  type SourceId,
  type SubscriptionId,
} from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { modeField, type RetryColumns, retryFields, retryOf } from '../database/retry-columns.ts';
import { type Claim, leaseDue, leaseStatement, type TakenRow, type Wanted } from './lease-due.ts';

/** Claims due deliveries for this node, with everything the dispatcher needs. */
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

/** A row without its event is leased too, so that it does not stand before others for ever. */
const CLAIM = leaseStatement(CLAIMED_COLUMNS, CLAIMED_JOIN, {
  bytes: 'coalesce(d.body, e.payload)',
  join: `left join event_deliveries d on ${byKey('d.id', 'picked.delivery_id')}
  left join events e on ${byKey('e.id', 'picked.event_id')}`,
});

export function claimDeliveries(db: Database, wanted: Wanted): Promise<Claim<LeasedDelivery>[]> {
  return leaseDue(db, wanted, { name: 'claim-deliveries', text: CLAIM, fromRow });
}

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

export interface WaitingKey {
  project_id: ProjectId;
  key: QueueKey;
  lane: number;
  due_in_ms: number;
}

/**
 * Every (key, lane) with waiting rows and the due time of the first: one index probe per pair, for any number
 * of waiting rows.
 */
export const WAITING = `
with recursive w as (
  (select project_id, key, lane, due_at from delivery_queue where node_id is null order by key, lane, due_at limit 1)
  union all
  select n.* from w cross join lateral (
    select project_id, key, lane, due_at from delivery_queue
    where node_id is null and (key, lane) > (w.key, w.lane)
    order by key, lane, due_at limit 1
  ) n
)
select project_id, key, lane, extract(epoch from due_at - now())::float8 * 1000 as due_in_ms from w`;

/** Without those whose rows wait for their turn in an ordering key, or are in a batch. */
export function waitingKeys(db: Database): Promise<WaitingKey[]> {
  return db.hot<WaitingKey>(
    'waiting-keys',
    `${WAITING} where lane < ${WAITS_FOR_TURN} or lane = ${BATCH_LANE.formed}`,
    [],
  );
}

/** A row of the queue as its holder knows it. */
interface Fenced extends QueueRowKey {
  fence: number;
}

const release = new Parameters<{ nodeId: string; leased: readonly Fenced[] }>();
const holder = release.one('text', (batch) => batch.nodeId);
const released = release.rows(
  (batch) => batch.leased,
  [
    ['project_id', 'id', (h) => h.projectId],
    ['id', 'id', (h) => h.id],
    ['fence', 'int', (h) => h.fence],
  ],
);
const RELEASE = `
update delivery_queue q set node_id = null, fence = q.fence + 1
from ${released.as('r')}
where ${byKey('q.delivery_id', 'r.id')} and q.node_id = ${holder} and q.fence = r.fence`;

/** Releases rows unattempted, for example when a node stops: due at once, for any node. */
export async function releaseDeliveries(
  db: Database,
  nodeId: string,
  leased: readonly Fenced[],
): Promise<void> {
  await db.hot('release-deliveries', RELEASE, release.values({ nodeId, leased }));
}

const give = new Parameters<{ nodeId: string; rows: readonly QueueRowKey[] }>();
const giver = give.one('text', (batch) => batch.nodeId);
const given = give.rows(
  (batch) => batch.rows,
  [
    ['project_id', 'id', (row) => row.projectId],
    ['id', 'id', (row) => row.id],
  ],
);
const GIVE_BACK = `
update delivery_queue q set node_id = null, fence = q.fence + 1
from ${given.as('r')}
where ${byKey('q.delivery_id', 'r.id')} and q.node_id = ${giver}
returning q.project_id as "projectId", q.key, q.lane`;

/**
 * Releases those of the rows that this node leases, under any fence. Returns where they wait. The caller makes sure that
 * this node does not work on any of them.
 */
export function releaseIfLeased(
  db: Database,
  nodeId: string,
  rows: readonly QueueRowKey[],
): Promise<{ projectId: ProjectId; key: QueueKey; lane: number }[]> {
  return db.hot('release-if-leased', GIVE_BACK, give.values({ nodeId, rows }));
}

/** Records that an at-most-once delivery is about to be sent. False: this node no longer leases it. */
export async function markStarted(db: Database, nodeId: string, delivery: Fenced): Promise<boolean> {
  const rows = await db.hot(
    'mark-started',
    `update delivery_queue set is_started = true
     where project_id = $1 and delivery_id = $2 and node_id = $3 and fence = $4 returning delivery_id`,
    [delivery.projectId, delivery.id, nodeId, delivery.fence],
  );
  return rows.length > 0;
}
