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
