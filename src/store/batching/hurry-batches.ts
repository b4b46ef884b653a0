import { BATCH_LANE, type QueueKey } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';

/**
 * Makes the batches of waiting deliveries due. A batch goes as a whole, so the others of it go too. Returns where they wait,
 * and how many of the deliveries are in them.
 */
export async function hurryBatches(
  tx: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<{ keys: QueueKey[]; deliveries: number }> {
  const members = await tx.query<{ id: string; batch_id: string }>(
    `select delivery_id as id, batch_id from delivery_queue
     where project_id = $1 and delivery_id = any($2) and lane = ${BATCH_LANE.member} and coalesce(node_id, '') = ''`,
    [projectId, ids],
  );
  if (members.length === 0) return { keys: [], deliveries: 0 };
  // Locked in id order, so that two jobs cannot wait for each other.
  const moved = await tx.query<{ key: QueueKey }>(
    `with waiting as materialized (
       select project_id, delivery_id from delivery_queue
       where project_id = $1 and delivery_id = any($2) and coalesce(node_id, '') = '' order by delivery_id for update
     )
     update delivery_queue q set due_at = least(q.due_at, now())
     from waiting where ${byKey('q.delivery_id', 'waiting.delivery_id')} returning q.key`,
    [projectId, [...new Set(members.map(({ batch_id }) => batch_id))]],
  );
  await tx.query(
    `update event_deliveries set next_send_at = least(next_send_at, now()), updated_at = now()
     where project_id = $1 and id = any($2)`,
    [projectId, members.map(({ id }) => id)],
  );
  return { keys: [...new Set(moved.map(({ key }) => key))], deliveries: members.length };
}
