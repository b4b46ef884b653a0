import type { Static } from 'typebox';
import type { ProjectId } from '../../domain/ids.ts';
import { devicesByIds } from '../../store/config/devices.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import { deviceOf } from '../endpoints/device-schema.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import type { ApiContext } from '../http/context.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { type Subscription, toSubscription } from './subscription-schema.ts';

/** How subscriptions of a project are shown: with their endpoint and their source. Those of all of them are one read. */
export async function subscriptionView(
  context: ApiContext,
  projectId: ProjectId,
  rows: readonly SubscriptionRow[],
): Promise<(row: SubscriptionRow) => Static<typeof Subscription>> {
  const { db, endpoints, sources, publicUrl, now } = context;
  const endpointIds = rows.map((row) => row.endpoint_id);
  const sourceIds = rows.map((row) => row.source_id);
  const cliIds = rows.filter(({ type }) => type === 'cli').map((row) => row.endpoint_id);
  const [endpointRows, devices, showEndpoint, sourceRows] = await Promise.all([
    endpoints.byIds(db, projectId, endpointIds),
    devicesByIds(db, projectId, cliIds),
    endpointView(context, projectId, endpointIds),
    sources.byIds(db, projectId, sourceIds),
  ]);
  return (row) => {
    const endpoint = endpointRows.get(row.endpoint_id);
    return toSubscription(row, {
      endpoint:
        endpoint === undefined || endpoint.delivery === 'device'
          ? null
          : shownOrNull(() => showEndpoint(endpoint)),
      device: deviceOf(endpoint, devices.get(row.endpoint_id), now()),
      source: sourceRows.get(row.source_id),
      publicUrl: publicUrl(),
    });
  };
}
