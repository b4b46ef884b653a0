import { type LeasedDelivery, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { lockKeys } from './release-next.ts';

/**
 * Gives deliveries their places in their ordering keys, as a part of other statements. The row of a key is locked until the
 * commit, so places are given in the order of commits. The first delivery of a key in which nothing is open becomes its
 * head. The others wait. Keys are locked in sorted order, so that two batches cannot deadlock.
 *
 * `from` has the columns `project_id`, `id`, `ordering_id`, `subscription_id` and `endpoint_id`, and any others. The result
 * is `turns`: these rows with `place` and `waits`.
 */
export function placeDeliveries(from: string): string {
  return `placed as materialized (
  select d.*, row_number() over (partition by project_id, ordering_id order by id collate "C") as number,
    count(*) over (partition by project_id, ordering_id) as together
  from ${from} as d
), keys as (
  insert into ordering_keys as k (project_id, id, subscription_id, endpoint_id, last_place, head_id)
  select project_id, ordering_id, min(subscription_id), min(endpoint_id), count(*), min(id collate "C")
  from placed group by project_id, ordering_id order by project_id collate "C", ordering_id collate "C"
  on conflict (project_id, id) do update set last_place = k.last_place + excluded.last_place,
    head_id = coalesce(k.head_id, excluded.head_id), used_at = now(),
    subscription_id = case when k.held_at is null then excluded.subscription_id else k.subscription_id end, endpoint_id = excluded.endpoint_id
  returning k.project_id, k.id, k.last_place, k.head_id
), last_places as materialized (
  -- an object and not a join, which would compare every delivery with every key
  select jsonb_object_agg(project_id || ' ' || id, last_place) as by_key from keys
), turns as materialized (
  select placed.*, not coalesce(id in (select head_id from keys), false) as waits,
    ((select by_key from last_places) ->> (project_id || ' ' || ordering_id))::bigint - together + number as place
  from placed
), waiting as (
  insert into ordered_deliveries (project_id, ordering_id, place, delivery_id)
  select project_id, ordering_id, place, id from turns where waits
)`;
}

/**
 * Deliveries that take their places when they become due: delayed, replayed and resent ones. They were just claimed. The
 * head of a key stays claimed, the others go back to wait for their turn.
 */
const enter = new Parameters<readonly LeasedDelivery[]>();
const claimed = enter.rows(
  (deliveries) => deliveries,
  [
    ['project_id', 'id', (d) => d.projectId],
    ['id', 'id', (d) => d.id],
    ['fence', 'int', (d) => d.fence],
    ['ordering_id', 'text', (d) => d.orderingId],
    ['subscription_id', 'id', (d) => d.subscriptionId ?? ''],
    ['endpoint_id', 'id', (d) => d.endpointId],
    ['lane', 'int', (d) => d.lane],
  ],
);

/** Keys first, rows of the queue second, as the end of a delivery does. A new key is made by the second statement. */
const ENTER = `
with mine as materialized (
  select c.* from ${claimed.as('c')}
  join delivery_queue q on ${byKey('q.delivery_id', 'c.id')} and q.fence = c.fence and q.place is null
  for update of q
), ${placeDeliveries('mine')}
update delivery_queue q set place = t.place,
  lane = case when waits then t.lane + ${WAITS_FOR_TURN} else q.lane end,
  node_id = case when waits then null else q.node_id end,
  fence = case when waits then q.fence + 1 else q.fence end,
  due_at = case when waits then now() else q.due_at end
from turns t where ${byKey('q.delivery_id', 't.id')}
returning q.delivery_id as id, t.waits`;

/** The claimed deliveries that may be sent. The others have taken their places and wait. */
export async function inTheirPlaces(
  db: Database,
  claimed: readonly LeasedDelivery[],
): Promise<ReadonlySet<LeasedDelivery>> {
  const entering = claimed.filter(({ isPlaced }) => !isPlaced);
  if (entering.length === 0) return new Set(claimed);
  // Another error than that of the statement: the claim itself was committed.
  const heads = await enterKeys(db, entering).catch((cause: unknown) => {
    throw new Error('claimed deliveries could not take their places in ordering keys', { cause });
  });
  return new Set(claimed.filter(({ id, isPlaced }) => isPlaced || heads.has(id)));
}

/** Returns the ids of those that are heads of their keys. */
export function enterKeys(db: Database, deliveries: readonly LeasedDelivery[]): Promise<Set<string>> {
  return db.hotTransaction(async (tx) => {
    // Both are sent at once. The server begins the second, and takes its snapshot, when it has the locks.
    const [, rows] = await Promise.all([
      lockKeys(tx, deliveries),
      tx.hot<{ id: string; waits: boolean }>('enter-ordering-keys', ENTER, enter.values(deliveries)),
    ]);
    return new Set(rows.filter(({ waits }) => !waits).map(({ id }) => id));
  });
}
