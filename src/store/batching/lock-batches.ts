import { BATCH_LANE } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import type { WaitingRow } from '../queue/send-now.ts';

/**
 * Locks the batches of those of the deliveries that wait in one, in id order. Each counts as many deliveries as were asked
 * for; it goes as a whole. `after`: deliveries up to this one were asked for before.
 */
export function lockBatches(
  tx: Queryable,
  projectId: string,
  { ids, after }: { ids: readonly string[]; after: string },
): Promise<WaitingRow[]> {
  return tx.query<WaitingRow>(
    `with members as materialized (
       select project_id, batch_id, min(delivery_id) as first_id, count(*)::int as deliveries from delivery_queue
       where project_id = $1 and delivery_id = any($2) and lane = ${BATCH_LANE.member} and coalesce(node_id, '') = ''
       group by project_id, batch_id
     )
     select q.delivery_id as id, q.key, q.lane, q.due_at > now() as is_later, d.endpoint_id, d.subscription_id,
       members.deliveries, q.delivery_ids[1] <= $3 as had_turn
     from members
     join delivery_queue q on ${byKey('q.delivery_id', 'members.batch_id')} and coalesce(q.node_id, '') = ''
     join event_deliveries d on ${byKey('d.id', 'members.first_id')}
     order by q.delivery_id for update of q`,
    [projectId, ids, after],
  );
}
