import { type EventId, type IdFactory, idTime, type ProjectId } from '../domain/ids.ts';
import type { NewDelivery } from '../store/queue/insert-deliveries.ts';
import { gateOf, gates } from './gate.ts';
import type { ProjectRouting } from './project-routing.ts';
import type { RoutedSubscription } from './routed-subscription.ts';

/** An event, as its deliveries need it. */
interface DeliveredEvent {
  id: EventId;
  projectId: ProjectId;
  eventType: string;
  deliverAtMs: number | null;
  expiresAtMs: number | null;
}

/** The delivery of an event to one subscription, by the current config. That of a replay goes at once, and never expires. */
export function buildDelivery(
  event: DeliveredEvent,
  subscription: RoutedSubscription,
  context: {
    routing: ProjectRouting;
    ids: IdFactory;
    nowMs: number;
    maxRetrySeconds: number;
    isReplay?: boolean;
  },
): NewDelivery {
  const { row, retry } = subscription;
  const { routing, nowMs, isReplay = false } = context;
  const isLater = !isReplay && event.deliverAtMs !== null && event.deliverAtMs > nowMs;
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
    // Others wait for a claim, which takes the probe or counts the limits.
    isUngated: !isLater && gates[gateOf(routing, { key }, nowMs).kind].isOpen === true,
    dueAtMs: isLater ? event.deliverAtMs : null,
    expiresAtMs: isReplay ? null : expiresAt(event, row.ttl_seconds),
    leased: false,
    isReplay: isReplay && routing.endpoints.get(row.endpoint_id)?.row.webhook_id === 'event',
  };
}

/** The earlier of what the event says, and what the subscription allows after its acceptance or delivery time. */
function expiresAt({ id, deliverAtMs, expiresAtMs }: DeliveredEvent, ttlSeconds: number): number | null {
  if (ttlSeconds === 0) return expiresAtMs;
  const ofSubscription = Math.max(idTime(id), deliverAtMs ?? 0) + ttlSeconds * 1000;
  return Math.min(expiresAtMs ?? ofSubscription, ofSubscription);
}
