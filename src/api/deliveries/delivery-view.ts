import type { Static } from 'typebox';
import type { ProjectId } from '../../domain/ids.ts';
import { devicesByIds } from '../../store/config/devices.ts';
import type { StoredDelivery } from '../../store/history/event-deliveries.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import type { ReadContext } from '../http/context.ts';
import { type EventDelivery, toDelivery } from './delivery-schema.ts';

/** Shows deliveries of a project with their endpoints, deleted ones too, and their sources. */
export async function deliveryView(
  context: ReadContext,
  projectId: ProjectId,
  rows: readonly StoredDelivery[],
): Promise<(row: StoredDelivery) => Static<typeof EventDelivery>> {
  const { db, cache, endpoints: store, now } = context;
  const routing = await cache.get(projectId);
  const ids = rows.map((row) => row.endpoint_id);
  const [endpoints, devices, showEndpoint] = await Promise.all([
    store.byIds(db, projectId, ids),
    devicesByIds(
      db,
      projectId,
      ids.filter((id) => routing.isDevice(id)),
    ),
    endpointView(context, projectId, ids),
  ]);
  const nowMs = now();
  return (row) => toDelivery(row, { endpoints, devices, showEndpoint, routing, nowMs });
}
