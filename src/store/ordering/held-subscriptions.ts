import type { ProjectId } from '../../domain/ids.ts';
import type { Database, Queryable } from '../database/database.ts';

/** The key that a subscription holds for the longest time. */
export interface HeldKey {
  subscription_id: string;
  id: string;
}

/** The subscriptions that hold a key. Each costs one lookup, whatever the number of held keys. */
export async function heldSubscriptions(
  db: Queryable,
  projectId: string,
  subscriptionIds: readonly string[],
): Promise<Map<string, HeldKey>> {
  const rows = await db.query<HeldKey>(
    `select s.id as subscription_id, k.id from unnest($2::text[]) as s (id) cross join lateral (
       select id from ordering_keys k
       where k.project_id = $1 and k.subscription_id = s.id and k.held_at is not null order by k.held_at limit 1) k`,
    [projectId, subscriptionIds],
  );
  return new Map(rows.map((row) => [row.subscription_id, row]));
}

/** More than this many subscriptions are looked at in a later run. */
const MOST = 10_000;

/**
 * Subscriptions that hold keys, each with the time since when. Steps over the index from one subscription to the next, not
 * over the keys.
 */
export const HOLDING = `holding as (
  (select project_id, subscription_id, held_at from ordering_keys where held_at is not null
   order by project_id, subscription_id, held_at limit 1)
  union all
  select n.project_id, n.subscription_id, n.held_at from holding h cross join lateral (
    select project_id, subscription_id, held_at from ordering_keys k
    where k.held_at is not null and (k.project_id, k.subscription_id) > (h.project_id, h.subscription_id)
    order by k.project_id, k.subscription_id, k.held_at limit 1) n
)`;

/** Subscriptions whose alert does not say whether they hold a key: a node died between the two commits. */
export function wronglyAlerted(db: Database): Promise<{ projectId: ProjectId; subscriptionId: string }[]> {
  return db.query(`
    with recursive ${HOLDING}, raised as materialized (
      select project_id, split_part(subject_id, ' ', 1) as subscription_id from alerts
      where kind = 'ordering' and cleared_at is null
    )
    select project_id as "projectId", subscription_id as "subscriptionId" from (
      (select * from (select project_id, subscription_id from holding limit ${MOST}) h except select * from raised)
      union all
      select * from raised r where not exists (
        select from ordering_keys k
        where k.project_id = r.project_id and k.subscription_id = r.subscription_id and k.held_at is not null)
    ) w`);
}
