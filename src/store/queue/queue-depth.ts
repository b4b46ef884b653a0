import { fetchedKinds } from '../../domain/config/endpoint.ts';
import { BATCH_LANE, LANE, type Place, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import type { Database, Queryable } from '../database/database.ts';
import { HOLDING } from '../ordering/held-keys.ts';

/**
 * Every (key, lane) with waiting rows and the due time of the first: one index probe per pair, for any number
 * of waiting rows.
 */
const WAITING = `
with recursive w as (
  (select project_id, key, lane, due_at from delivery_queue where node_id is null order by key, lane, due_at limit 1)
  union all
  select n.* from w cross join lateral (
    select project_id, key, lane, due_at from delivery_queue
    where node_id is null and (key, lane) > (w.key, w.lane)
    order by key, lane, due_at limit 1
  ) n
)
select project_id as "projectId", key, lane, extract(epoch from due_at - now())::float8 * 1000 as "dueInMs" from w`;

/** Without those whose rows wait for their turn in an ordering key, or are in a batch. */
export function waitingKeys(db: Database): Promise<(Place & { dueInMs: number })[]> {
  return db.hot(
    'waiting-keys',
    `${WAITING} where lane < ${WAITS_FOR_TURN} or lane = ${BATCH_LANE.formed}`,
    [],
  );
}

/** The state of the whole queue for monitoring, over all projects and without their names. */
export interface QueueDepth {
  /** `oldest_pull_ms`: of deliveries that wait for their consumer, which no node can send. */
  lanes: { lane: number; waiting: number; oldest_due_ms: number; oldest_pull_ms: number }[];
  breakersOpen: number;
  order: OrderDepth;
}

/** A count reads every row it counts: 20,000 took 45 ms on a busy machine of two cores, 100,000 took 200. */
const COUNTED_AT_MOST = 20_000;

const FETCHED = fetchedKinds.map((kind) => `'${kind}'`).join(', ');

/** A lease that ended waits for a node. The key is an endpoint, or a subscription with a rate limit. */
const IS_PULLED = `w.lane <> ${LANE.leased} and exists (
    select from endpoints e where e.project_id = w."projectId" and e.delivery in (${FETCHED}) and e.id = coalesce(
      (select s.endpoint_id from subscriptions s where s.id = w.key and s.project_id = w."projectId"), w.key))`;

const DEPTH = `
select lane, sum(waiting)::int as waiting,
  greatest(max(due_for_ms) filter (where not is_pulled), 0) as oldest_due_ms,
  greatest(max(due_for_ms) filter (where is_pulled), 0) as oldest_pull_ms
from (
  select lane, count(*) as waiting, null::float8 as due_for_ms, false as is_pulled
  from (select lane from delivery_queue where node_id is null limit ${COUNTED_AT_MOST}) counted
  group by lane
  union all
  select lane, 0, -"dueInMs", ${IS_PULLED} from (${WAITING}) w
) lanes
group by lane`;

/** Deleted endpoints may have left a breaker behind. */
const BREAKERS = `
select count(*)::int as open from endpoint_breakers b
join endpoints e on e.id = b.endpoint_id and e.project_id = b.project_id and e.deleted_at is null
where b.state = 'open'`;

/** The oldest due row of each lane is exact: one index probe per key and lane, 25 µs each. */
export function queueDepth(db: Database): Promise<QueueDepth> {
  return db.reading('', async (tx) => {
    const lanes = await tx.query<QueueDepth['lanes'][number]>(DEPTH);
    const [breakers] = await tx.query<{ open: number }>(BREAKERS);
    return { lanes, breakersOpen: breakers?.open ?? 0, order: await orderDepth(tx) };
  });
}

/** The state of all ordering keys for monitoring. */
interface OrderDepth {
  /** Keys in which deliveries wait behind the head, `MOST_KEYS` at most. */
  keysWaiting: number;
  /** As many at most. */
  keysHeld: number;
  oldestHeldMs: number;
}

/** Each key that has deliveries waiting costs one index probe: 5,000 of a million took 80 ms on a busy machine of two cores. */
const MOST_KEYS = 5_000;

const ORDER_DEPTH = `
with recursive keys as (
  (select project_id, ordering_id from ordered_deliveries order by project_id, ordering_id limit 1)
  union all
  select n.project_id, n.ordering_id from keys cross join lateral (
    select project_id, ordering_id from ordered_deliveries w
    where (w.project_id, w.ordering_id) > (keys.project_id, keys.ordering_id)
    order by w.project_id, w.ordering_id limit 1) n
), ${HOLDING}
select (select count(*)::int from (select from keys limit ${MOST_KEYS}) k) as "keysWaiting",
  (select count(*)::int from (select from ordering_keys where held_at is not null limit ${MOST_KEYS}) k) as "keysHeld",
  coalesce((select extract(epoch from now() - min(held_at))::float8 * 1000 from (
    select held_at from holding limit ${MOST_KEYS}) h), 0) as "oldestHeldMs"`;

async function orderDepth(tx: Queryable): Promise<OrderDepth> {
  const [depth] = await tx.query<OrderDepth>(ORDER_DEPTH);
  return depth ?? { keysWaiting: 0, keysHeld: 0, oldestHeldMs: 0 };
}
