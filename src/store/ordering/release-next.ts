import { BATCH_LANE, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/**
 * Lets the next delivery of each ordering key go, as a part of the statements that end deliveries. `ended` has the columns
 * `project_id`, `ordering_id`, `delivery_id` and `held_by`. If the head of a key ended, the first that waits becomes the head
 * and due, unless a subscription holds the key from now on. The result is `released`, with `project_id`, `key` and `lane`.
 *
 * The rows of the keys must have been locked by a statement before (`lockKeys`, `lockKeysOf`). Only then does this one see
 * every delivery that was accepted behind the head.
 */
export function releaseNext(): string {
  return `turned as materialized (
  select e.project_id, e.ordering_id, e.held_by, n.place, n.delivery_id
  from ended e
  join ordering_keys k on ${byKey('k.id', 'e.ordering_id')} and k.head_id = e.delivery_id
  left join lateral (
    select w.place, w.delivery_id from ordered_deliveries w
    where w.project_id = e.project_id and w.ordering_id = e.ordering_id
      and not coalesce(w.delivery_id in (select delivery_id from ended), false)
    order by w.place limit 1
  ) n on e.held_by is null
), headed as (
  update ordering_keys k
  set head_id = case when t.held_by is null then t.delivery_id else k.head_id end,
    held_at = case when t.held_by is not null then now() end, subscription_id = coalesce(t.held_by, k.subscription_id), used_at = now()
  from turned t where ${byKey('k.id', 't.ordering_id')}
), taken as (
  delete from ordered_deliveries w using turned t
  where w.project_id = any(array[t.project_id]) and w.ordering_id = t.ordering_id and w.place = t.place
), released as (
  update delivery_queue q set lane = q.lane - ${WAITS_FOR_TURN}, due_at = now()
  from turned t where ${byKey('q.delivery_id', 't.delivery_id')} and q.lane >= ${WAITS_FOR_TURN} and q.lane < ${BATCH_LANE.formed}
  returning q.project_id, q.key, q.lane
)`;
}

interface OrderedDelivery {
  projectId: string;
  orderingId: string | null;
}

const lock = new Parameters<readonly OrderedDelivery[]>();
const ordered = lock.rows(
  (deliveries) => deliveries,
  [
    ['project_id', 'id', (d) => d.projectId],
    ['ordering_id', 'text', (d) => d.orderingId],
  ],
);
/** In sorted order, as every lock of keys. Lateral, so that the planner cannot read the whole index in that order. */
const LOCK = `
select k.id from (
  select project_id, ordering_id from ${ordered.as('d')} where ordering_id is not null
  group by project_id, ordering_id order by project_id collate "C", ordering_id collate "C"
) d cross join lateral (
  select id from ordering_keys where project_id = d.project_id and id = d.ordering_id for update
) k`;

/** If it fails, so does what was sent with it. Its own error comes first. */
export const lockKeys = (tx: HotQueryable, deliveries: readonly OrderedDelivery[]): Promise<unknown> =>
  tx.hot('lock-ordering-keys', LOCK, lock.values(deliveries));

/** Locks the keys of those of the deliveries that are open, or of all. Returns them. */
export async function lockKeysOf(
  tx: Queryable,
  projectId: string,
  deliveries: { ids: readonly string[]; among: 'open' | 'all' },
): Promise<string[]> {
  const [from, id] =
    deliveries.among === 'open' ? ['delivery_queue', 'delivery_id'] : ['event_deliveries', 'id'];
  const rows = await tx.query<{ id: string }>(
    `select k.id from ordering_keys k where k.project_id = $1 and k.id = any(array(
       select ordering_id from ${from} where project_id = $1 and ${id} = any($2) and ordering_id is not null))
     order by k.id for update`,
    [projectId, deliveries.ids],
  );
  return rows.map((row) => row.id);
}
