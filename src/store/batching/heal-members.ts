import { BATCH_LANE, LANE, type Place, type QueueKey, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import type { BatchId, ProjectId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { lockKeysOf } from '../ordering/release-next.ts';
import { insertBatches } from '../queue/queue-rows.ts';

/**
 * Deliveries of a batch that has no row: no node would ever claim them. Rows of a batch and of its deliveries change in one
 * commit, so that only a fault leaves such ones. They go on in a batch of their own. Whether the lost one was sent is not
 * known, so that of deliveries at most once it counts as begun.
 */
export interface Orphans {
  projectId: ProjectId;
  key: QueueKey;
  batch_id: string;
  is_at_most_once: boolean;
  ids: string[];
}

/** So many of the longest due of each queue key are looked at. Lost ones are among them sooner or later. */
const PER_KEY = 1_000;

const FREE_MEMBER = `lane = ${BATCH_LANE.member} and node_id is null`;
const isLost = (member: string) => `not exists (
  select from delivery_queue b where b.project_id = ${member}.project_id and b.delivery_id = ${member}.batch_id)`;

/** One index probe finds the next key. */
const FIND = `
with recursive k as (
  (select key from delivery_queue where node_id is null order by key limit 1)
  union all
  select n.key from k cross join lateral (
    select key from delivery_queue where node_id is null and key > k.key order by key limit 1
  ) n
), lost as materialized (
  select q.* from k cross join lateral (
    select project_id, delivery_id, key, batch_id from delivery_queue
    where key = k.key and ${FREE_MEMBER} order by due_at limit ${PER_KEY}
  ) q where ${isLost('q')}
)
select lost.project_id as "projectId", lost.key, lost.batch_id, d.is_at_most_once, array_agg(lost.delivery_id) as ids
from lost join event_deliveries d on ${byKey('d.id', 'lost.delivery_id')}
group by lost.project_id, 2, 3, 4`;

/** Deliveries behind another of their ordering key wait for their turn: that one may still be leased. */
const HEAL = `
with lost as materialized (
  select project_id, delivery_id, not $5 and exists (
    select from ordered_deliveries w
    where ${byKey('w.ordering_id', 'q.ordering_id')} and w.place = q.place and w.delivery_id = q.delivery_id) as is_behind
  from delivery_queue q
  where project_id = $1 and delivery_id = any($2) and batch_id = $3 and ${FREE_MEMBER} and ${isLost('q')}
  order by delivery_id for update
), behind as (
  update delivery_queue q set lane = ${LANE.retry + WAITS_FOR_TURN}
  from lost where ${byKey('q.delivery_id', 'lost.delivery_id')} and is_behind
), members as (
  update delivery_queue q set batch_id = $4
  from lost where ${byKey('q.delivery_id', 'lost.delivery_id')} and not is_behind
  returning q.delivery_id, q.event_id, q.project_id, q.key, q.batch_id
)
${insertBatches({ isStarted: '$5' })}`;

/** By project, batch and mode of delivery. */
export const lostMembers = (db: Database): Promise<Orphans[]> => db.query<Orphans>(FIND);

/** Returns where the new batch waits. */
export async function healMembers(db: Database, lost: Orphans, newId: BatchId): Promise<Place> {
  const { projectId, key, ids, batch_id, is_at_most_once } = lost;
  await db.transaction(async (tx) => {
    await lockKeysOf(tx, projectId, { ids, among: 'open' });
    await tx.query(HEAL, [projectId, ids, batch_id, newId, is_at_most_once]);
  });
  return { projectId, key, lane: BATCH_LANE.formed };
}
