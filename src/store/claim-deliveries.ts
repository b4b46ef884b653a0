import type { HeldDelivery } from '../domain/event-delivery.ts';
import type { Database } from './database.ts';
import { plainArray } from './packed-bytes.ts';

/**
 * Takes due deliveries for this node: for each wanted (key, lane) the `count` longest due, skipping rows that
 * another node is taking at this moment. Returns everything the dispatcher needs, so a claim costs one round trip.
 *
 * Served by delivery_queue_claim (key, lane, due_at); touches only the rows it takes. A claim by key instead of
 * one over the whole queue is what keeps an endpoint with 100,000 due rows from hiding the others.
 */
export interface Want {
  key: string;
  lane: number;
  count: number;
}

interface ClaimedRow {
  delivery_id: string;
  event_id: string;
  project_id: string;
  key: string;
  lane: number;
  fence: number;
  is_started: boolean;
  endpoint_id: string;
  subscription_id: string | null;
  event_type: string;
  delivery_mode: string;
  strategy: string;
  interval_seconds: number;
  max_retry_seconds: number;
  retry_limit: number;
  num_trials: number;
  budget_from: number;
  body: Buffer | null;
  payload: Buffer;
  content_type: string | null;
  headers: string | null;
  url_query_params: string | null;
  idempotency_key: string | null;
  acknowledged_at: number;
  late_ms: number;
}

/** What came of one want: the deliveries, and when the next row that is not due yet will be. */
export interface Claim {
  want: Want;
  deliveries: HeldDelivery[];
  nextDueInMs: number | null;
}

const CLAIM = `
with picked as materialized (
  select q.delivery_id
  from unnest($2::text[], $3::int[], $4::int[]) as want(key, lane, count)
  cross join lateral (
    select delivery_id from delivery_queue
    where key = want.key and lane = want.lane and node_id is null and due_at <= now()
    order by due_at
    limit want.count
    for update skip locked
  ) q
), held as (
  update delivery_queue q set node_id = $1, fence = q.fence + 1
  from picked where q.delivery_id = picked.delivery_id
  returning q.delivery_id, q.event_id, q.project_id, q.key, q.lane, q.fence, q.is_started,
    extract(epoch from now() - q.due_at)::float8 * 1000 as late_ms
)
select want.n, (
    select extract(epoch from q.due_at - now())::float8 * 1000 from delivery_queue q
    where q.key = want.key and q.lane = want.lane and q.node_id is null and q.due_at > now()
    order by q.due_at limit 1
  ) as next_due_in_ms, claimed.*
from unnest($2::text[], $3::int[]) with ordinality as want(key, lane, n)
left join (
  select held.*, d.endpoint_id, d.subscription_id, d.event_type, d.delivery_mode, d.strategy, d.interval_seconds,
    d.max_retry_seconds, d.retry_limit, d.num_trials, d.budget_from, d.body,
    e.payload, e.content_type, coalesce(e.forwarded_headers, e.headers) as headers, e.url_query_params, e.idempotency_key, e.acknowledged_at
  from held
  join event_deliveries d on d.id = held.delivery_id
  join events e on e.id = held.event_id
) claimed on claimed.key = want.key and claimed.lane = want.lane`;

type Answer = { n: number; next_due_in_ms: number | null } & (
  | ClaimedRow
  | { [Column in keyof ClaimedRow]: null }
);

export async function claimDeliveries(db: Database, nodeId: string, wants: Want[]): Promise<Claim[]> {
  const answers = await db.hot<Answer>('claim-deliveries', CLAIM, [
    nodeId,
    plainArray(wants.map((want) => want.key)),
    plainArray(wants.map((want) => want.lane)),
    plainArray(wants.map((want) => want.count)),
  ]);
  const claims = wants.map((want): Claim => ({ want, deliveries: [], nextDueInMs: null }));
  for (const answer of answers) {
    const claim = claims[answer.n - 1] as Claim;
    claim.nextDueInMs = answer.next_due_in_ms;
    if (answer.delivery_id !== null) claim.deliveries.push(fromRow(answer));
  }
  return claims;
}

function fromRow(row: ClaimedRow): HeldDelivery {
  return {
    id: row.delivery_id,
    fence: row.fence,
    key: row.key,
    lane: row.lane,
    projectId: row.project_id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    subscriptionId: row.subscription_id,
    eventType: row.event_type,
    deliveryMode: row.delivery_mode,
    strategy: row.strategy,
    intervalSeconds: row.interval_seconds,
    maxRetrySeconds: row.max_retry_seconds,
    retryLimit: row.retry_limit,
    numTrials: row.num_trials,
    budgetFrom: row.budget_from,
    body: row.body ?? row.payload,
    hasOwnBody: row.body !== null,
    isStarted: row.is_started,
    isProbe: false,
    grant: null,
    contentType: row.content_type,
    headers: row.headers,
    urlQueryParams: row.url_query_params,
    idempotencyKey: row.idempotency_key,
    acknowledgedAtMs: row.acknowledged_at,
    dueAt: performance.now() - row.late_ms,
  };
}

export interface WaitingKey {
  project_id: string;
  key: string;
  lane: number;
  due_in_ms: number;
}

/**
 * Every (key, lane) with waiting rows and when its first is due: one index probe per pair, however many rows
 * wait behind each.
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

export function waitingKeys(db: Database): Promise<WaitingKey[]> {
  return db.hot<WaitingKey>('waiting-keys', WAITING, []);
}

/** Hands rows back untried, e.g. when a node stops: due at once, for whoever claims them. */
export async function releaseDeliveries(
  db: Database,
  nodeId: string,
  held: { id: string; fence: number }[],
): Promise<void> {
  await db.hot(
    'release-deliveries',
    `update delivery_queue q set node_id = null, fence = q.fence + 1
     from unnest($2::text[], $3::int[]) as r(id, fence)
     where q.delivery_id = r.id and q.node_id = $1 and q.fence = r.fence`,
    [nodeId, plainArray(held.map((h) => h.id)), plainArray(held.map((h) => h.fence))],
  );
}

/** What this node holds according to the database; read only when the two may differ. */
export function heldBy(
  db: Database,
  nodeId: string,
): Promise<{ id: string; fence: number; project_id: string; key: string; lane: number }[]> {
  return db.query(
    'select delivery_id as id, fence, project_id, key, lane from delivery_queue where node_id = $1',
    [nodeId],
  );
}

/** Notes that an at-most-once delivery is about to be sent. False: it is no longer this node's. */
export async function markStarted(
  db: Database,
  nodeId: string,
  delivery: { id: string; fence: number },
): Promise<boolean> {
  const rows = await db.hot(
    'mark-started',
    `update delivery_queue set is_started = true
     where delivery_id = $1 and node_id = $2 and fence = $3 returning delivery_id`,
    [delivery.id, nodeId, delivery.fence],
  );
  return rows.length > 0;
}
