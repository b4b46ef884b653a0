import { type Actor, changeOf } from '../../domain/audit.ts';
import { noConditions } from '../../domain/subscription.ts';
import { changeConfig } from '../../store/config/config-version.ts';
import { listSubscriptions, saveSubscription } from '../../store/config/subscriptions.ts';
import type { ApiContext } from '../http/context.ts';

/**
 * An event sent straight to an endpoint that nobody subscribed gets there through a catch-all subscription, made
 * here once. The project row is locked while looking, so two events at once make one.
 */
export async function ensureSubscription(
  context: ApiContext,
  by: { projectId: string; actor: Actor },
  endpointId: string,
): Promise<void> {
  const { cache, ids } = context;
  const { projectId } = by;
  const routing = await cache.get(projectId);
  if (routing.hasSubscription(endpointId)) return;
  await changeConfig(context, by, async (tx, version) => {
    const page = { perPage: 1, direction: 'next', cursor: null, order: 'ASC' } as const;
    if ((await listSubscriptions(tx, projectId, { page, endpointIds: [endpointId] })).rows.length > 0)
      return { result: null, audit: [] };
    const saved = await saveSubscription(tx, {
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
    return { result: null, audit: [changeOf('subscription.created', null, saved)] };
  });
  await cache.refresh(projectId);
}
