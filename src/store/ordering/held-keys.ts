import type { Place } from '../../domain/delivery.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Database, Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { releaseNext } from './release-next.ts';

/**
 * Keys that are held: their head failed, and the subscription asks to wait. A resend of the head ends the hold, and the
 * head keeps its place. A skip lets the next delivery go.
 */
export async function endHolds(
  tx: Queryable,
  projectId: string,
  deliveries: readonly { id: string; ordering_id: string | null }[],
): Promise<void> {
  const ordered = deliveries.filter(({ ordering_id }) => ordering_id !== null);
  if (ordered.length === 0) return;
  await tx.query(
    `with held as materialized (
       select id, head_id from ordering_keys
       where project_id = $1 and id = any($2) and head_id = any($3) and held_at is not null
       order by id for update
     ), free as (
       update ordering_keys k set held_at = null, used_at = now() from held where k.project_id = $1 and k.id = held.id
     )
     update delivery_queue q set place = 0 from held where q.project_id = $1 and q.delivery_id = held.head_id`,
    [projectId, ordered.map(({ ordering_id }) => ordering_id), ordered.map(({ id }) => id)],
  );
}

const SKIP = `
with ended as materialized (
  select project_id, id as ordering_id, head_id as delivery_id, null as held_by from ordering_keys
  where project_id = $1 and id = any($2) and held_at is not null
), ${releaseNext()}
select project_id as "projectId", key, lane from released`;

interface Skipped {
  released: Place[];
  subscriptionIds: Set<string>;
}

/** Lets the next deliveries of held keys go. Null: none of them is held. */
export async function skipHeld(
  tx: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<Skipped | null> {
  const held = await tx.query<{ subscription_id: string }>(
    `select subscription_id from ordering_keys where project_id = $1 and id = any($2) and held_at is not null
     order by id for update`,
    [projectId, ids],
  );
  if (held.length === 0) return null;
  const subscriptionIds = new Set(held.map(({ subscription_id }) => subscription_id));
  return { released: await tx.query<Place>(SKIP, [projectId, ids]), subscriptionIds };
}

/** Projects with held keys. */
export async function projectsWithHolds(db: Queryable): Promise<ProjectId[]> {
  const rows = await db.query<{ project_id: ProjectId }>(
    'select distinct project_id from ordering_keys where held_at is not null',
  );
  return rows.map((row) => row.project_id);
}

/** Lets the next deliveries go of keys that have been held since before a time, so many keys at most. */
export async function skipHeldBefore(
  tx: Queryable,
  projectId: string,
  { beforeMs, limit }: { beforeMs: number; limit: number },
): Promise<{ keys: number; released: Place[] }> {
  const rows = await tx.query<{ id: string }>(
    `select id from ordering_keys where project_id = $1 and held_at < to_timestamp($2::float8 / 1000)
     order by held_at limit $3`,
    [projectId, beforeMs, limit],
  );
  const ids = rows.map((row) => row.id);
  return {
    keys: ids.length,
    released: ids.length === 0 ? [] : ((await skipHeld(tx, projectId, ids))?.released ?? []),
  };
}

/** A key in which a delivery is open, or that is held. */
export interface OrderingKeyRow {
  id: string;
  subscription_id: string;
  endpoint_id: string;
  head_id: string;
  held_at: number | null;
  /** Deliveries behind the head, `MOST_COUNTED` at most. */
  waiting: number;
}

/** A count reads every row that it counts. */
export const MOST_COUNTED = 10_000;

export function listKeys(
  db: Queryable,
  projectId: string,
  filter: { page: PageRequest; isHeld: boolean; subscriptionId?: string | undefined },
): Promise<Page<OrderingKeyRow>> {
  const where = new Where()
    .add('k.project_id = ?', projectId)
    .add('k.head_id is not null')
    .addIf('k.subscription_id = ?', filter.subscriptionId);
  if (filter.isHeld) where.add('k.held_at is not null');
  return listPage(db, {
    select: `k.id, k.subscription_id, k.endpoint_id, k.head_id, k.held_at, (
      select count(*)::int from (
        select from ordered_deliveries w where w.project_id = k.project_id and w.ordering_id = k.id limit ${MOST_COUNTED}
      ) w) as waiting`,
    from: 'ordering_keys k',
    where,
    page: filter.page,
    id: 'k.id',
  });
}

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
