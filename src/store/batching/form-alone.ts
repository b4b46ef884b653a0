import { BATCH_LANE, LANE, type QueueKey } from '../../domain/delivery.ts';
import type { Queryable } from '../database/database.ts';

const FORM = `
with member as (
  update delivery_queue set lane = ${BATCH_LANE.member}, batch_id = $3
  where project_id = $1 and delivery_id = $2 and lane = ${LANE.first} and node_id is null and due_at <= now()
    and (ordering_id is null or place is not null)
  returning delivery_id, event_id, project_id, key
)
insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at, delivery_ids)
select $3, event_id, project_id, key, ${BATCH_LANE.formed}, 2, now(), array[delivery_id] from member
returning key`;

/** Makes a batch of one delivery, which does not wait for others. Returns where it waits. Undefined: it has one already. */
export async function formAlone(
  db: Queryable,
  { projectId, deliveryId, batchId }: { projectId: string; deliveryId: string; batchId: string },
): Promise<QueueKey | undefined> {
  const [made] = await db.query<{ key: QueueKey }>(FORM, [projectId, deliveryId, batchId]);
  return made?.key;
}
