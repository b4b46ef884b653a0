import type { ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { type Released, releaseNext } from './release-next.ts';

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
  released: Released[];
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
  return { released: await tx.query<Released>(SKIP, [projectId, ids]), subscriptionIds };
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
): Promise<{ keys: number; released: Released[] }> {
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
