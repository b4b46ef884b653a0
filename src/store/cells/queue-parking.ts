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

/** Rows that no node has, so many at most. Returns how many it parked. */
export async function parkSome(db: Queryable, projectId: string): Promise<number> {
  const parked = await db.query(
    `${PARK} and node_id is null and delivery_id = any(array(
       select delivery_id from delivery_queue where project_id = $1 and node_id is null and not (${IS_PARKED})
       order by delivery_id limit ${CHUNK})) returning 1`,
    [projectId],
  );
  return parked.length;
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
