import type { ProjectRouting } from './project-routing.ts';

/** What a delivery that comes back into the queue is claimed by. */
export function queueKeyOf(
  routing: ProjectRouting,
  delivery: { endpoint_id: string; subscription_id: string | null },
): string {
  const subscription = routing.subscriptions.get(delivery.subscription_id ?? '');
  return subscription === undefined ? delivery.endpoint_id : routing.queueKey(subscription);
}
