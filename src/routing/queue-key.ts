import type { ProjectRouting } from './project-routing.ts';

/**
 * What a delivery that comes back into the queue is claimed by. A subscription that has moved to another endpoint since
 * is no longer asked: the rate limits of its new endpoint say nothing of the old one.
 */
export function queueKeyOf(
  routing: ProjectRouting,
  delivery: { endpoint_id: string; subscription_id: string | null },
): string {
  const subscription = routing.subscriptions.get(delivery.subscription_id ?? '');
  return subscription?.row.endpoint_id === delivery.endpoint_id
    ? routing.queueKey(subscription)
    : delivery.endpoint_id;
}
