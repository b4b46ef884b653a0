import {
  BATCH_LANE,
  LANE,
  type LeasedDelivery,
  type QueueKey,
  WAITS_FOR_TURN,
} from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Database, Queryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { enterKeys } from '../ordering/enter-keys.ts';
import { insertBatches } from '../queue/queue-rows.ts';
import { type Collected, DUE, LANES } from './look-at-collected.ts';

/**
 * Batches are made of due rows of a subscription, which wait in their lanes behind the gate `batch`. States of such a row:
 *   collected -> in its own lane, due; the gate keeps it from being claimed;
 *   member    -> in the lane `member` with `batch_id`, and named in `delivery_ids` of the row of its batch.
 * Both change in one statement, before anything is sent. So each attempt at a batch has the same deliveries, on whatever
 * node. Of an ordering key only the head is due. The next ones behind it join its batch, without a gap, and stay behind it:
 * they have their places until they end.
 */
export interface Forming extends Pick<Collected, 'key' | 'batch'> {
  /** As many batches are made at most. */
  batchIds: readonly string[];
  hasUnplaced: boolean;
}

const rowsFor = ({ batch, batchIds }: Forming): number => batch.max * batchIds.length;

const UNPLACED = `
select q.project_id as "projectId", q.delivery_id as id, q.fence, q.ordering_id as "orderingId", q.lane,
  d.subscription_id as "subscriptionId", d.endpoint_id as "endpointId"
from ${LANES} cross join lateral (
  select * from delivery_queue where key = $1 and lane = l.lane and ${DUE} order by due_at limit $2
) q join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
where q.ordering_id is not null and q.place is null`;

/** Delayed, replayed and resent deliveries take their places in ordering keys now. Those that have to wait there leave. */
async function enterOrder(db: Database, row: Forming): Promise<void> {
  const unplaced = await db.query<LeasedDelivery>(UNPLACED, [row.key, rowsFor(row)]);
  if (unplaced.length > 0) await enterKeys(db, unplaced);
}

const form = new Parameters<{ nodeId: string; rows: readonly Forming[] }>();
const node = form.one('text', ({ nodeId }) => nodeId);
const formed = form.rows(
  ({ rows }) => rows,
  [
    ['key', 'id', (r) => r.key],
    ['batch_ids', 'ids', (r) => r.batchIds],
    ['max', 'int', (r) => r.batch.max],
    ['most', 'int', rowsFor],
    ['max_bytes', 'float8', (r) => r.batch.max_bytes],
    ['max_wait_seconds', 'float8', (r) => r.batch.max_wait_seconds],
  ],
);

/**
 * One replay goes along with so many first tries and retries, so that new events do not wait behind a bulk replay. The replay
 * that has waited longest begins one of so many full batches, as it may not fit with others, or have another mode.
 */
const REPLAY_SPACE = 10;
/** The share of the batches that begin with that replay: of those that are not full without, each second one. */
const LED = `case when fresh < max then 0.5 else least(0.5, ${1 / REPLAY_SPACE} * cardinality(batch_ids)) end`;
/** So many times the deliveries of a batch are looked at behind its heads, because many may be of one key. */
const SPARE = 4;

/**
 * Heads go first, the longest due before others. Each replay takes the space of REPLAY_SPACE. A large one gets the bytes that
 * others leave. Then go those behind the heads, one of each key in turn. Behind a row that is locked, or has another queue
 * key, none of its ordering key joins. A batch has one endpoint and one mode, also after its subscription has got another.
 * With `node_id is null` the planner would look for those behind in the index for claims.
 *
 * With more heads than a batch takes, `number` divides them among several. None has a row behind a head then, so that those
 * of an ordering key are in one batch.
 *
 * Each batch needs rows enough to reach a limit, or one that has waited. Otherwise it is not made: another node has just
 * taken others of those that were counted. A head with a row of another queue key behind it is enough. A row without its
 * event or delivery is leased, as by a claim, so that it does not stand before others.
 */
const FORM = `
with found as materialized (
  select ${formed.value('batch_ids', 'w')} as batch_ids, w.max, w.max_bytes, q.*,
    count(*) over (partition by w.key) as together,
    count(*) filter (where not q.is_replay) over (partition by w.key) as fresh,
    row_number() over (partition by w.key, q.is_replay order by q.due_at, q.delivery_id) as nth,
    q.batch_id is not null or q.due_at <= now() - w.max_wait_seconds * interval '1 second' as has_waited
  from ${formed.as('w')} cross join ${LANES} cross join lateral (
    select project_id, delivery_id, event_id, key, due_at, ordering_id, batch_id, lane = ${LANE.replay} as is_replay from delivery_queue
    where key = w.key and lane = l.lane and ${DUE} and (ordering_id is null or place is not null)
    order by due_at limit w.most
    for update skip locked
  ) q
), heads as materialized (
  select *, case when leads then 0 when is_replay then ${REPLAY_SPACE} * nth else nth end as rank
  from (select *, is_replay and nth = 1 and has_waited and random() < ${LED} as leads from found) drawn
), candidates as materialized (
  select c.*, row_number() over (partition by c.key order by c.depth, c.rank, c.delivery_id) as turn
  from (select distinct key, max, together from heads where ordering_id is not null and together < max) w
  cross join lateral (
    select h.batch_ids, h.max, h.max_bytes, h.together, h.key, h.is_replay, h.rank, h.ordering_id, b.*
    from heads h cross join lateral (
      select project_id, delivery_id, row_number() over (order by place) as depth from (
        select project_id, delivery_id, place from ordered_deliveries
        where project_id = h.project_id and ordering_id = h.ordering_id order by place limit h.max - h.together) b
    ) b
    where h.key = w.key and h.ordering_id is not null limit ${SPARE} * w.max
  ) c
), followed as materialized (
  select distinct c.key from candidates c join delivery_queue q on ${byKey('q.delivery_id', 'c.delivery_id')}
  where c.turn <= c.max - c.together and q.key <> c.key
), behind as materialized (
  select c.*, q.event_id, row_number() over (partition by c.key, c.ordering_id order by c.depth) as number
  from candidates c cross join lateral (
    select event_id from delivery_queue q
    where ${byKey('q.delivery_id', 'c.delivery_id')} and q.key = c.key and coalesce(node_id, '') = ''
      and lane >= ${WAITS_FOR_TURN} and lane < ${BATCH_LANE.formed}
    for update skip locked
  ) q
  where c.turn <= c.max - c.together
), picked as materialized (
  select batch_ids, max, max_bytes, project_id, delivery_id, event_id, key, is_replay, rank, ordering_id, 0 as depth, has_waited from heads
  union all
  select batch_ids, max, max_bytes, project_id, delivery_id, event_id, key, is_replay, rank, ordering_id, depth, false
  from behind where depth = number
), sized as materialized (
  select picked.*, d.id is not null and e.id is not null as is_whole,
    octet_length(coalesce(d.body, e.payload)) as bytes,
    d.endpoint_id = first_value(d.endpoint_id) over in_turn
      and d.is_at_most_once = first_value(d.is_at_most_once) over in_turn as is_same
  from picked
  left join event_deliveries d on ${byKey('d.id', 'picked.delivery_id')}
  left join events e on ${byKey('e.id', 'picked.event_id')}
  window in_turn as (partition by key, d.id is not null and e.id is not null order by depth, rank, delivery_id)
), lost as (
  update delivery_queue q set node_id = ${node}, fence = q.fence + 1
  from sized where not sized.is_whole and sized.depth = 0 and ${byKey('q.delivery_id', 'sized.delivery_id')}
), alike as materialized (
  select *, bool_and(is_whole and is_same) over (
    partition by key, coalesce(ordering_id, delivery_id) order by depth, delivery_id) as is_alike,
    is_replay and rank > 0 and first_value(bytes) over (
      partition by key, coalesce(ordering_id, delivery_id) order by depth, delivery_id) > max_bytes / ${REPLAY_SPACE} as is_last
  from sized
), numbered as materialized (
  select *, (row_number() over (
    partition by key order by is_alike desc, is_whole desc, depth, rank, delivery_id) - 1) / max + 1 as number
  from alike
), summed as materialized (
  select *, row_number() over so_far as n, sum(bytes) over so_far as total,
    count(*) filter (where is_whole) over of_batch >= max or sum(bytes) filter (where is_whole) over of_batch >= max_bytes
      or bool_or(has_waited and is_whole) over of_batch or key in (select key from followed) as is_enough
  from numbered
  window of_batch as (partition by key, number),
    so_far as (partition by key, number order by is_alike desc, is_last, depth, rank, delivery_id)
), members as materialized (
  select *, batch_ids[number] as batch_id from summed
  where is_alike and is_enough and (n = 1 or total <= max_bytes) and number <= cardinality(batch_ids)
), moved as (
  update delivery_queue q set lane = ${BATCH_LANE.member}, batch_id = members.batch_id
  from members where ${byKey('q.delivery_id', 'members.delivery_id')}
)
${insertBatches()}
returning key, cardinality(delivery_ids) as count`;

/** Makes batches of each subscription that has enough rows. Returns how many deliveries each has. */
export async function formBatches(
  db: Database,
  nodeId: string,
  rows: readonly Forming[],
): Promise<Map<string, number>> {
  for (const row of rows) if (row.hasUnplaced) await enterOrder(db, row);
  const made = await db.hot<{ key: string; count: number }>(
    'form-batches',
    FORM,
    form.values({ nodeId, rows }),
  );
  return made.reduce(
    (sums, { key, count }) => sums.set(key, count + (sums.get(key) ?? 0)),
    new Map<string, number>(),
  );
}

const ALONE = `
with members as (
  update delivery_queue set lane = ${BATCH_LANE.member}, batch_id = $3
  where project_id = $1 and delivery_id = $2 and lane = ${LANE.first} and node_id is null and due_at <= now()
    and (ordering_id is null or place is not null)
  returning delivery_id, event_id, project_id, key, batch_id
)
${insertBatches()}
returning key`;

/** Makes a batch of one delivery, which does not wait for others. Returns where it waits. Undefined: it has one already. */
export async function formAlone(
  db: Queryable,
  { projectId, deliveryId, batchId }: { projectId: string; deliveryId: string; batchId: string },
): Promise<QueueKey | undefined> {
  const [made] = await db.query<{ key: QueueKey }>(ALONE, [projectId, deliveryId, batchId]);
  return made?.key;
}
