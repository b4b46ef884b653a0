import type { QueueKey } from '../domain/delivery.ts';
import type { EndpointId, SubscriptionId } from '../domain/ids.ts';
import type { ProjectRouting } from './project-routing.ts';

/**
 * The queue key of a delivery that returns to the queue. A subscription that has moved to another endpoint
 * since is ignored, because the rate limits of its new endpoint do not apply to the old one.
 */
export function queueKeyOf(
  routing: ProjectRouting,
  delivery: { endpoint_id: EndpointId; subscription_id: SubscriptionId | null },
): QueueKey {
  const subscription = routing.subscriptions.get(delivery.subscription_id ?? '');
  return subscription?.row.endpoint_id === delivery.endpoint_id
    ? routing.queueKey(subscription)
    : delivery.endpoint_id;
}
