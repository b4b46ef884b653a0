import { idTime } from '../../../src/domain/ids.ts';
import type { ChaosLoad } from '../chaos-load.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { StoredDelivery } from '../stored.ts';

/** When a delivery could be sent: the time of its event's answer, or of its id if the answer was lost. */
export function madeAt({ id, event_id }: StoredDelivery, load: ChaosLoad): number {
  return load.accepted.get(event_id)?.at ?? idTime(id);
}

/** When at least so many of an endpoint's deliveries waited for their first request. */
export function workStretches(
  deliveries: StoredDelivery[],
  receipts: Receipt[],
  { load, atLeast }: { load: ChaosLoad; atLeast: number },
): { from: number; to: number }[] {
  const first = new Map(receipts.toReversed().map(({ deliveryId, at }) => [deliveryId, at]));
  const steps = deliveries
    .map((delivery) => ({ made: madeAt(delivery, load), sent: first.get(delivery.id) }))
    // A request may arrive before the answer to its event does.
    .flatMap(({ made, sent = Number.POSITIVE_INFINITY }) => [
      { at: Math.min(made, sent), change: 1 },
      { at: sent, change: -1 },
    ])
    .toSorted((a, b) => a.at - b.at || a.change - b.change);
  const stretches: { from: number; to: number }[] = [];
  let waiting = 0;
  let since: number | null = null;
  for (const { at, change } of steps) {
    waiting += change;
    if (waiting >= atLeast) since ??= at;
    else if (since !== null) {
      stretches.push({ from: since, to: at });
      since = null;
    }
  }
  return stretches;
}
