import { LANE } from '../../domain/delivery.ts';
import type { Queryable } from '../database/database.ts';

/**
 * Rows of the queue of a project that moves are parked: due a thousand years later, with a higher fence. So no node can claim
 * or finish them here, whatever it believes of the project. The way back is exact, and the lease of a consumer keeps its
 * fence on it: its token works again where the project goes on.
 */
const PARKED_BY = "interval '8766000 hours'";
const IS_PARKED = "due_at > now() + interval '4383000 hours' and due_at < 'infinity'";

/** The columns of a row as they were before. */
export const UNPARKED = {
  due_at: `case when ${IS_PARKED} then due_at - ${PARKED_BY} else due_at end`,
  fence: `fence - (lane = ${LANE.leased} and ${IS_PARKED})::int`,
};

const PARK = `update delivery_queue set node_id = null, fence = fence + 1, due_at = due_at + ${PARKED_BY}
  where project_id = $1 and not (${IS_PARKED})`;

/** Consumers get and report no more deliveries. */
export async function parkLeased(tx: Queryable, projectId: string): Promise<void> {
  await tx.query(`${PARK} and lane = ${LANE.leased}`, [projectId]);
}

const CHUNK = 5_000;

/** Parks the rows that no node has, of a chunk behind an id. Returns the last id of the chunk. Null: there are no more. */
export async function parkChunk(db: Queryable, projectId: string, after: string): Promise<string | null> {
  const [chunk] = await db.query<{ last: string | null }>(
    `select max(delivery_id) as last from (
       select delivery_id from delivery_queue where project_id = $1 and delivery_id > $2 order by delivery_id limit ${CHUNK}
     ) chunk`,
    [projectId, after],
  );
  const last = chunk?.last ?? null;
  if (last !== null)
    await db.query(`${PARK} and delivery_id > $2 and delivery_id <= $3 and node_id is null`, [
      projectId,
      after,
      last,
    ]);
  return last;
}

export async function parkAll(tx: Queryable, projectId: string): Promise<void> {
  await tx.query(PARK, [projectId]);
}

export async function unparkAll(tx: Queryable, projectId: string): Promise<void> {
  await tx.query(
    `update delivery_queue set due_at = ${UNPARKED.due_at}, fence = ${UNPARKED.fence}
     where project_id = $1 and ${IS_PARKED}`,
    [projectId],
  );
}
