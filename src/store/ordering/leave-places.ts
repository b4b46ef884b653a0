import type { LeasedDelivery } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

interface Leaving {
  nodeId: string;
  deliveries: readonly LeasedDelivery[];
}

const leave = new Parameters<Leaving>();
const nodeId = leave.one('text', (leaving) => leaving.nodeId);
const leaving = leave.rows(
  ({ deliveries }) => deliveries,
  [
    ['project_id', 'id', (d) => d.projectId],
    ['id', 'id', (d) => d.id],
    ['fence', 'int', (d) => d.fence],
  ],
);

/** Only of rows that this node still leases under the same fence: others do not end by it. */
const LEAVE = `
with gone as materialized (
  select q.project_id, q.ordering_id, q.place, q.delivery_id from ${leaving.as('l')}
  join delivery_queue q on ${byKey('q.delivery_id', 'l.id')} and q.node_id = ${nodeId} and q.fence = l.fence
)
delete from ordered_deliveries w using gone
where ${byKey('w.ordering_id', 'gone.ordering_id')} and w.place = gone.place and w.delivery_id = gone.delivery_id`;

/** Deliveries end in a batch behind the head of their key, which ends with them or goes on. Their keys are locked. */
export async function leavePlaces(tx: HotQueryable, given: Leaving): Promise<void> {
  await tx.hot('leave-places', LEAVE, leave.values(given));
}
