import { BATCH_LANE, LANE, type LeasedDelivery, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { enterKeys } from '../ordering/enter-keys.ts';

/**
 * Batches are made of due rows of a subscription, which wait in their lanes behind the gate `batch`. States of such a row:
 *   collected -> in its own lane, due; the gate keeps it from being claimed;
 *   member    -> in the lane `member` with `batch_id`, and named in `delivery_ids` of the row of its batch.
 * Both change in one statement, before anything is sent. So each attempt at a batch has the same deliveries, on whatever
 * node. Of an ordering key only the head is due. The next ones behind it join its batch, without a gap, and stay behind it:
 * they have their places until they end.
 */
export interface Collected {
  key: string;
  max: number;
  maxBytes: number;
}

/** The state of a subscription's due rows, counted up to its limits. With MOST_WAITING batches they are not counted. */
export interface Seen {
  /** With those behind them in ordering keys, as `bytes`. */
  count: number;
  bytes: number;
  /** How long the first of them is due. Infinity: one was in a batch before. */
  oldestMs: number;
  /** Batches of it that are due and wait for a node. */
  backlog: number;
  /** Some have yet to take their places in ordering keys. Their subscription may have no ordering any more. */
  hasUnplaced: boolean;
}

/** More batches than this need not wait for a node: the rows wait as well without one, and fill it better. */
export const MOST_WAITING = 8;

const look = new Parameters<readonly Collected[]>();
const looked = look.rows(
  (rows) => rows,
  [
    ['key', 'id', (r) => r.key],
    ['max', 'int', (r) => r.max],
  ],
);

/** Lane by lane, because the index has the rows of a key in that order. */
const LANES = `unnest(array[${[LANE.first, LANE.retry, LANE.replay].join(', ')}]) as l(lane)`;
const DUE = 'node_id is null and due_at <= now()';

/**
 * Behind enough batches the rows are not counted. The length of a stored value is known without reading it. A row that was
 * in a batch before has waited.
 */
const LOOK = `
select w.key, seen.count + behind.count as count, seen.bytes + behind.bytes as bytes, seen."oldestMs", seen."hasUnplaced",
  waiting.backlog
from ${looked.as('w')} cross join lateral (
  select count(*)::int as backlog from (
    select from delivery_queue where key = w.key and lane = ${BATCH_LANE.formed} and ${DUE} limit ${MOST_WAITING}) b
) waiting cross join lateral (
  select count(*)::int as count, coalesce(sum(octet_length(coalesce(d.body, e.payload))), 0)::float8 as bytes,
    coalesce(max(case when q.batch_id is null then extract(epoch from now() - q.due_at) * 1000 else 'infinity' end), 0)::float8 as "oldestMs",
    coalesce(bool_or(q.ordering_id is not null and q.place is null), false) as "hasUnplaced"
  from ${LANES} cross join lateral (
    select project_id, delivery_id, event_id, due_at, ordering_id, place, batch_id from delivery_queue
    where key = w.key and lane = l.lane and ${DUE} and waiting.backlog < ${MOST_WAITING} order by due_at limit w.max
  ) q
  join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
  join events e on ${byKey('e.id', 'q.event_id')}
) seen cross join lateral (
  select count(*)::int as count, coalesce(sum(octet_length(coalesce(d.body, e.payload))), 0)::float8 as bytes
  from (
    select n.project_id, n.delivery_id, n.event_id from ${LANES} cross join lateral (
      select project_id, ordering_id from delivery_queue
      where key = w.key and lane = l.lane and ${DUE} and waiting.backlog < ${MOST_WAITING} order by due_at limit w.max
    ) q cross join lateral (
      select project_id, delivery_id from ordered_deliveries
      where project_id = q.project_id and ordering_id = q.ordering_id order by place limit w.max
    ) b join delivery_queue n on ${byKey('n.delivery_id', 'b.delivery_id')}
    where q.ordering_id is not null limit w.max
  ) b
  join event_deliveries d on ${byKey('d.id', 'b.delivery_id')}
  join events e on ${byKey('e.id', 'b.event_id')}
) behind`;

export async function lookAtCollected(db: Database, rows: readonly Collected[]): Promise<Map<string, Seen>> {
  const seen = await db.hot<Seen & { key: string }>('look-at-collected', LOOK, look.values(rows));
  return new Map(seen.map((row) => [row.key, row]));
}

const UNPLACED = `
select q.project_id as "projectId", q.delivery_id as id, q.fence, q.ordering_id as "orderingId", q.lane,
  d.subscription_id as "subscriptionId", d.endpoint_id as "endpointId"
from ${LANES} cross join lateral (
  select * from delivery_queue where key = $1 and lane = l.lane and ${DUE} order by due_at limit $2
) q join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
where q.ordering_id is not null and q.place is null`;

/** Delayed, replayed and resent deliveries take their places in ordering keys now. Those that have to wait there leave. */
async function enterOrder(db: Database, { key, max }: Collected): Promise<void> {
  const unplaced = await db.query<LeasedDelivery>(UNPLACED, [key, max]);
  if (unplaced.length > 0) await enterKeys(db, unplaced);
}

export interface Forming extends Collected {
  batchId: string;
  hasUnplaced: boolean;
}

const form = new Parameters<readonly Forming[]>();
const formed = form.rows(
  (rows) => rows,
  [
    ['key', 'id', (r) => r.key],
    ['batch_id', 'id', (r) => r.batchId],
    ['max', 'int', (r) => r.max],
    ['max_bytes', 'float8', (r) => r.maxBytes],
  ],
);

/** So many times the deliveries of a batch are looked at behind its heads, because many may be of one key. */
const SPARE = 4;

/**
 * Heads go first, the longest due before others, then those behind them, one of each key in turn. Behind a row that is
 * locked, or has another queue key, none of its ordering key joins. A batch has one endpoint and one mode, also after its
 * subscription has got another. With `node_id is null` the planner would look for those behind in the index for claims.
 */
const FORM = `
with heads as materialized (
  select w.batch_id, w.max, w.max_bytes, q.*, count(*) over (partition by w.batch_id) as together
  from ${formed.as('w')} cross join ${LANES} cross join lateral (
    select project_id, delivery_id, event_id, key, due_at, ordering_id from delivery_queue
    where key = w.key and lane = l.lane and ${DUE} and (ordering_id is null or place is not null)
    order by due_at limit w.max
    for update skip locked
  ) q
), candidates as materialized (
  select c.*, row_number() over (partition by c.batch_id order by c.depth, c.due_at, c.delivery_id) as turn
  from (select distinct batch_id, max, together from heads where ordering_id is not null and together < max) w
  cross join lateral (
    select h.batch_id, h.max, h.max_bytes, h.together, h.key, h.due_at, h.ordering_id, b.*
    from heads h cross join lateral (
      select project_id, delivery_id, row_number() over (order by place) as depth from (
        select project_id, delivery_id, place from ordered_deliveries
        where project_id = h.project_id and ordering_id = h.ordering_id order by place limit h.max - h.together) b
    ) b
    where h.batch_id = w.batch_id and h.ordering_id is not null limit ${SPARE} * w.max
  ) c
), behind as materialized (
  select c.*, q.event_id, row_number() over (partition by c.batch_id, c.ordering_id order by c.depth) as number
  from candidates c cross join lateral (
    select event_id from delivery_queue q
    where ${byKey('q.delivery_id', 'c.delivery_id')} and q.key = c.key and coalesce(node_id, '') = ''
      and lane >= ${WAITS_FOR_TURN} and lane < ${BATCH_LANE.formed}
    for update skip locked
  ) q
  where c.turn <= c.max - c.together
), picked as materialized (
  select batch_id, max, max_bytes, project_id, delivery_id, event_id, key, due_at, ordering_id, 0 as depth from heads
  union all
  select batch_id, max, max_bytes, project_id, delivery_id, event_id, key, due_at, ordering_id, depth from behind where depth = number
), sized as materialized (
  select picked.*, octet_length(coalesce(d.body, e.payload)) as bytes,
    d.endpoint_id = first_value(d.endpoint_id) over in_turn
      and d.is_at_most_once = first_value(d.is_at_most_once) over in_turn as is_same
  from picked
  join event_deliveries d on ${byKey('d.id', 'picked.delivery_id')}
  join events e on ${byKey('e.id', 'picked.event_id')}
  window in_turn as (partition by batch_id order by depth, due_at, delivery_id)
), alike as materialized (
  select *, bool_and(is_same) over (
    partition by batch_id, coalesce(ordering_id, delivery_id) order by depth, delivery_id) as is_alike
  from sized
), summed as materialized (
  select alike.*, row_number() over so_far as n, sum(bytes) over so_far as total
  from alike where is_alike window so_far as (partition by batch_id order by depth, due_at, delivery_id)
), members as materialized (
  select * from summed where n <= max and (n = 1 or total <= max_bytes)
), moved as (
  update delivery_queue q set lane = ${BATCH_LANE.member}, batch_id = members.batch_id
  from members where ${byKey('q.delivery_id', 'members.delivery_id')}
)
insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at, delivery_ids)
select batch_id, min(event_id), min(project_id), min(key), ${BATCH_LANE.formed}, 2, now(), array_agg(delivery_id order by delivery_id)
from members group by batch_id order by batch_id
returning key, cardinality(delivery_ids) as count`;

/** Makes one batch of each subscription. Returns how many deliveries each has. */
export async function formBatches(db: Database, rows: readonly Forming[]): Promise<Map<string, number>> {
  for (const row of rows) if (row.hasUnplaced) await enterOrder(db, row);
  const made = await db.hot<{ key: string; count: number }>('form-batches', FORM, form.values(rows));
  return new Map(made.map(({ key, count }) => [key, count]));
}
