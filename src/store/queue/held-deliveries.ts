import { LANE } from '../../domain/delivery.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import { lockKeysOf } from '../ordering/release-next.ts';

/** Open deliveries and meta events that have waited very long. */
export interface LongOpenRow {
  id: string;
  key: string;
  lane: number;
  is_meta_event: boolean;
}

/**
 * Projects with an open row below an id. One index probe per project finds its oldest, for any number of
 * waiting rows.
 */
export async function projectsHolding(db: Queryable, below: string): Promise<ProjectId[]> {
  const rows = await db.query<{ project_id: ProjectId }>(
    `with recursive oldest as (
       (select project_id, delivery_id from delivery_queue order by project_id, delivery_id limit 1)
       union all
       select n.* from oldest cross join lateral (
         select project_id, delivery_id from delivery_queue where project_id > oldest.project_id
         order by project_id, delivery_id limit 1
       ) n
     )
     select project_id from oldest where delivery_id < $1`,
    [below],
  );
  return rows.map((row) => row.project_id);
}

/**
 * Locks the oldest below an id. A row that a node leases is being sent and about to end, so it is skipped,
 * except below `evenIfSending`. Of rows of ordering keys the keys are locked, which come before any row. The row of a batch is
 * none of them: its deliveries are.
 */
export async function lockHeld(
  tx: Queryable,
  projectId: string,
  held: { below: string; evenIfSending: string; limit: number },
): Promise<LongOpenRow[]> {
  const { below, evenIfSending, limit } = held;
  const rows = await tx.query<LongOpenRow & { is_ordered: boolean }>(
    `select delivery_id as id, key, lane, kind = 1 as is_meta_event, ordering_id is not null as is_ordered
     from delivery_queue
     where project_id = $1 and delivery_id < $2 and kind <> 2 and case when ordering_id is null
       then node_id is null or delivery_id < $3 else node_id is null and lane <> ${LANE.leased} end
     order by delivery_id limit $4`,
    [projectId, below, evenIfSending, limit],
  );
  const idsOf = (isOrdered: boolean) =>
    rows.filter((row) => row.is_ordered === isOrdered).map(({ id }) => id);
  await lockKeysOf(tx, projectId, { ids: idsOf(true), among: 'open' });
  const locked = await tx.query<{ id: string }>(
    `select delivery_id as id from delivery_queue
     where project_id = $1 and delivery_id = any($2) and (coalesce(node_id, '') = '' or delivery_id < $3)
     order by delivery_id for update skip locked`,
    [projectId, idsOf(false), evenIfSending],
  );
  const mine = new Set([...idsOf(true), ...locked.map(({ id }) => id)]);
  return rows.filter(({ id }) => mine.has(id));
}

/** Removes batches below an id whose deliveries have all ended: behind a closed gate no node would claim them. */
export async function removeEmptyBatches(tx: Queryable, projectId: string, below: string): Promise<void> {
  await tx.query(
    `delete from delivery_queue b
     where b.project_id = $1 and b.delivery_id < $2 and b.kind = 2 and coalesce(b.node_id, '') = '' and not exists (
       select from delivery_queue m
       where m.project_id = $1 and m.delivery_id = any(b.delivery_ids) and m.batch_id = b.delivery_id)`,
    [projectId, below],
  );
}

/** Ends open meta events whose queue rows are locked. */
export async function endOpenMetaEvents(
  tx: Queryable,
  projectId: string,
  end: { ids: readonly string[]; description: string },
): Promise<void> {
  await tx.query('delete from delivery_queue where delivery_id = any($1) and project_id = $2', [
    end.ids,
    projectId,
  ]);
  await tx.query(
    `update meta_events set status = 'Discarded', description = $3, updated_at = now()
     where id = any($1) and project_id = $2`,
    [end.ids, projectId, end.description],
  );
}
