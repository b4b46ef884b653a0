import type { HeldDelivery } from '../domain/event-delivery.ts';
import { idTime } from '../domain/ids.ts';
import type { Claim, Want } from './claim-deliveries.ts';
import type { Database } from './database.ts';
import { plainArray } from './packed-bytes.ts';

/** Takes due meta events for this node, as claim-deliveries.ts does deliveries; one answer per want, in order. */
interface ClaimedRow {
  id: string;
  project_id: string;
  key: string;
  lane: number;
  fence: number;
  event_type: string;
  payload: Buffer;
  strategy: string;
  interval_seconds: number;
  max_retry_seconds: number;
  retry_limit: number;
  num_trials: number;
  budget_from: number;
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
  returning q.delivery_id, q.project_id, q.key, q.lane, q.fence
)
select held.delivery_id as id, held.project_id, held.key, held.lane, held.fence, m.event_type, m.payload, m.strategy,
  m.interval_seconds, m.max_retry_seconds, m.retry_limit, m.num_trials, m.budget_from
from held join meta_events m on m.id = held.delivery_id`;

const NEXT_DUE = `
select want.n::int, (
  select extract(epoch from q.due_at - now())::float8 * 1000 from delivery_queue q
  where q.key = want.key and q.lane = want.lane and q.node_id is null and q.due_at > now()
  order by q.due_at limit 1
) as next_due_in_ms
from unnest($1::text[], $2::int[]) with ordinality as want(key, lane, n)`;

export async function claimMetaEvents(db: Database, nodeId: string, wants: Want[]): Promise<Claim[]> {
  if (wants.length === 0) return [];
  const keys = plainArray(wants.map((want) => want.key));
  const lanes = plainArray(wants.map((want) => want.lane));
  const counts = plainArray(wants.map((want) => want.count));
  const rows = await db.hot<ClaimedRow>('claim-meta-events', CLAIM, [nodeId, keys, lanes, counts]);
  const dues = await db.hot<{ n: number; next_due_in_ms: number | null }>('next-meta-events', NEXT_DUE, [
    keys,
    lanes,
  ]);
  const dueOf = new Map(dues.map((due) => [due.n - 1, due.next_due_in_ms]));
  return wants.map((want, n) => ({
    want,
    deliveries: rows.filter((row) => row.key === want.key && row.lane === want.lane).map(fromRow),
    nextDueInMs: dueOf.get(n) ?? null,
  }));
}

/** The engine sees a delivery whose endpoint is the queue key: it counts against windows and caps like one. */
function fromRow(row: ClaimedRow): HeldDelivery {
  return {
    id: row.id,
    fence: row.fence,
    key: row.key,
    lane: row.lane,
    projectId: row.project_id,
    eventId: row.id,
    endpointId: row.key,
    subscriptionId: null,
    eventType: row.event_type,
    deliveryMode: 'at_least_once',
    strategy: row.strategy,
    intervalSeconds: row.interval_seconds,
    maxRetrySeconds: row.max_retry_seconds,
    retryLimit: row.retry_limit,
    numTrials: row.num_trials,
    budgetFrom: row.budget_from,
    body: row.payload,
    hasOwnBody: false,
    isStarted: false,
    isProbe: false,
    grant: null,
    contentType: null,
    headers: null,
    urlQueryParams: null,
    idempotencyKey: null,
    acknowledgedAtMs: idTime(row.id),
    dueAt: null,
  };
}
