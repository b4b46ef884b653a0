import type { EventId, IdFactory, ProjectId } from '../domain/ids.ts';
import type { NewDelivery } from '../store/queue/insert-deliveries.ts';
import { type Gate, gateOf } from './gate.ts';
import type { ProjectRouting } from './project-routing.ts';
import type { RoutedSubscription } from './routed-subscription.ts';

/** The delivery of an event to one subscription, by the current config. */
export function buildDelivery(
  event: { id: EventId; projectId: ProjectId; eventType: string },
  subscription: RoutedSubscription,
  context: { routing: ProjectRouting; ids: IdFactory; nowMs: number; maxRetrySeconds: number },
): NewDelivery {
  const { row, retry } = subscription;
  const { routing, nowMs } = context;
  const key = routing.queueKey(subscription);
  return {
    id: context.ids.next(),
    projectId: event.projectId,
    eventId: event.id,
    endpointId: row.endpoint_id,
    subscriptionId: row.id,
    eventType: event.eventType,
    deliveryMode: row.delivery_mode,
    retry: { ...retry, maxRetrySeconds: context.maxRetrySeconds },
    key,
    orderingId: null,
    isUngated: goesAtOnce(gateOf(routing, { key }, nowMs)),
    leased: false,
  };
}

/** Others wait for a claim, which takes the probe or counts the limits. */
const goesAtOnce = ({ kind }: Gate): boolean => kind === 'open' || kind === 'inactive' || kind === 'gone';
