import { profileOf } from '../characters.ts';
import type { Stored } from '../stored.ts';
import type { Problems } from './problems.ts';
import type { Seen } from './verdict.ts';

/**
 * Order by key: if the call of one event began after another of its key was answered, no request for it arrives before
 * the other one was acknowledged. Returns how many deliveries have an order.
 */
export function judgeOrder(
  { deliveries }: Stored,
  { load, receipts, characterOf }: Seen,
  problems: Problems,
): number {
  const firstArrival = new Map<string, number>();
  const firstSuccess = new Map<string, number>();
  for (const [n, { deliveryId, isAcknowledged }] of receipts.entries()) {
    if (!firstArrival.has(deliveryId)) firstArrival.set(deliveryId, n);
    if (isAcknowledged && !firstSuccess.has(deliveryId)) firstSuccess.set(deliveryId, n);
  }
  const ordered = deliveries.flatMap(({ id, event_id, endpoint_id }) => {
    const accepted = load.accepted.get(event_id);
    if (accepted?.orderingKey === undefined) return [];
    // In a batch it arrives together with those before it, and again if the batch failed.
    const { batch } = profileOf(characterOf(endpoint_id));
    const arrival = (batch === undefined ? firstArrival : firstSuccess).get(id) ?? Infinity;
    return [{ id, ...accepted, key: accepted.orderingKey, arrival }];
  });
  const byKey = [...Map.groupBy(ordered, ({ key }) => key).values()];
  const overtaken = byKey.flatMap((own) => {
    const answered = own
      .map(({ id, at }) => ({ id, at, success: firstSuccess.get(id) ?? Infinity }))
      .toSorted((a, b) => a.at - b.at);
    let seen = 0;
    /** The last one to succeed, among those answered so far. */
    let last: (typeof answered)[number] | undefined;
    return own
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .flatMap((later) => {
        for (; seen < answered.length && answered[seen]!.at < later.startedAt; seen++)
          if (last === undefined || answered[seen]!.success > last.success) last = answered[seen];
        const isOvertaken = last !== undefined && last.success >= later.arrival;
        return isOvertaken ? [{ key: later.key, first: last?.id, overtakenBy: later.id }] : [];
      });
  });
  problems.expectNone('a key keeps its order', 'deliveries were overtaken', overtaken);
  return ordered.length;
}
