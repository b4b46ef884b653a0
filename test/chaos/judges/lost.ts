import { endpointsOf, profileOf } from '../characters.ts';
import type { Stored, StoredDelivery } from '../stored.ts';
import type { Seen } from './verdict.ts';

/**
 * The events that were answered as accepted, and that some endpoint did not get: the event or a delivery is not stored, or
 * no request of it was acknowledged. At most once may end without an acknowledgement, and its own judge looks at it.
 */
export function lostEvents({ events, deliveries }: Stored, seen: Seen): string[] {
  const { load, receipts, characterOf } = seen;
  const stored = new Map(events.map((event) => [event.id, event.event_type]));
  const acknowledged = new Set(receipts.filter((one) => one.isAcknowledged).map((one) => one.deliveryId));
  const isKept = ({ id, endpoint_id }: StoredDelivery) =>
    acknowledged.has(id) || profileOf(characterOf(endpoint_id)).isOnce === true;
  const kept = Map.groupBy(deliveries.filter(isKept), (delivery) => delivery.event_id);
  return [...load.accepted.keys()].filter((id) => {
    const type = stored.get(id);
    if (type === undefined) return true;
    return !load.duplicates.has(id) && (kept.get(id)?.length ?? 0) < endpointsOf(type);
  });
}
