import { BATCH_LANE, type LeasedDelivery, type Place, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/** Places of deliveries that are in a batch behind the head of their key. The keys are locked. */
interface Members {
  nodeId: string;
  deliveries: readonly LeasedDelivery[];
}

function membersOf<T extends Pick<Members, 'deliveries'>>(parameters: Parameters<T>) {
  return parameters.rows(
    ({ deliveries }) => deliveries,
    [
      ['project_id', 'id', (d) => d.projectId],
      ['id', 'id', (d) => d.id],
      ['fence', 'int', (d) => d.fence],
      ['ordering_id', 'text', (d) => d.orderingId],
    ],
  );
}

const leave = new Parameters<Members>();
const nodeId = leave.one('text', (members) => members.nodeId);

/** Locked, so that what is not this node's any more keeps its place: it does not end by this node. */
const LEAVE = `
with gone as materialized (
  select q.project_id, q.ordering_id, q.place, q.delivery_id from ${membersOf(leave).as('m')}
  join delivery_queue q on ${byKey('q.delivery_id', 'm.id')} and q.node_id = ${nodeId} and q.fence = m.fence
  order by q.delivery_id for update of q
)
delete from ordered_deliveries w using gone
where ${byKey('w.ordering_id', 'gone.ordering_id')} and w.place = gone.place and w.delivery_id = gone.delivery_id`;

/** They end, with the head or before it. */
export async function leavePlaces(tx: HotQueryable, members: Members): Promise<void> {
  await tx.hot('leave-places', LEAVE, leave.values(members));
}

const head = new Parameters<Pick<Members, 'deliveries'>>();
const RELEASE = `
with heads as materialized (
  select m.project_id, m.id from ${membersOf(head).as('m')}
  join ordering_keys k on ${byKey('k.id', 'm.ordering_id')} and k.head_id = m.id
)
update delivery_queue q set lane = q.lane - ${WAITS_FOR_TURN}, due_at = now()
from heads where ${byKey('q.delivery_id', 'heads.id')} and q.lane >= ${WAITS_FOR_TURN} and q.lane < ${BATCH_LANE.formed}
returning q.project_id as "projectId", q.key, q.lane`;

/**
 * They wait for their turn again. If the head was cancelled while the node took the batch, the first of them is the head by
 * now, and nothing else would let it go.
 */
export function releaseHeads(tx: HotQueryable, deliveries: readonly LeasedDelivery[]): Promise<Place[]> {
  return tx.hot<Place>('release-heads', RELEASE, head.values({ deliveries }));
}
