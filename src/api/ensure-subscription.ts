import { noConditions } from '../domain/subscription.ts';
import { changeConfig } from '../store/config-version.ts';
import { listSubscriptions, saveSubscription } from '../store/subscriptions.ts';
import type { ApiContext } from './context.ts';

/**
 * An event sent straight to an endpoint that nobody subscribed gets there through a catch-all subscription, made
 * here once. The project row is locked while looking, so two events at once make one.
 */
export async function ensureSubscription(
  context: ApiContext,
  projectId: string,
  endpointId: string,
): Promise<void> {
  const { cache, ids } = context;
  const routing = await cache.get(projectId);
  if (routing.hasSubscription(endpointId)) return;
  await changeConfig(context, projectId, async (tx, version) => {
    const page = { perPage: 1, direction: 'next', cursor: null, order: 'ASC' } as const;
    if ((await listSubscriptions(tx, projectId, { page, endpointIds: [endpointId] })).rows.length > 0) return;
    await saveSubscription(tx, {
      id: ids.next(),
      projectId,
      version,
      fields: {
        name: `${routing.endpoints.get(endpointId)?.row.name ?? endpointId}-subscription`,
        type: 'api',
        status: 'active',
        endpoint_id: endpointId,
        source_id: '',
        event_types: ['*'],
        filter: noConditions(),
        function: '',
        delivery_mode: 'at_least_once',
        alert_config: null,
        rate_limit_config: null,
        retry_config: null,
      },
    });
  });
  await cache.refresh(projectId);
}
