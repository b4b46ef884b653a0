import type { Stored } from '../stored.ts';
import type { Problems } from './problems.ts';
import type { Seen } from './verdict.ts';

/**
 * Order by key: if the call of one event began after another of its key was answered, no request for it arrives before
 * the other one was acknowledged.
 */
export function judgeOrder({ deliveries }: Stored, { load, receipts }: Seen, problems: Problems): void {
  const firstArrival = new Map<string, number>();
  const firstSuccess = new Map<string, number>();
  for (const [n, { deliveryId, isAcknowledged }] of receipts.entries()) {
    if (!firstArrival.has(deliveryId)) firstArrival.set(deliveryId, n);
    if (isAcknowledged && !firstSuccess.has(deliveryId)) firstSuccess.set(deliveryId, n);
  }
  const ordered = deliveries.flatMap(({ id, event_id }) => {
    const accepted = load.accepted.get(event_id);
    return accepted?.orderingKey === undefined ? [] : [{ id, ...accepted, key: accepted.orderingKey }];
  });
  const byKey = [...Map.groupBy(ordered, ({ key }) => key).values()];
  const isOvertaken = (first: string, later: string) =>
    (firstSuccess.get(first) ?? Infinity) >= (firstArrival.get(later) ?? Infinity);
  const overtaken = byKey.flatMap((own) =>
    own.flatMap((later) =>
      own
        .filter(({ id, at }) => at < later.startedAt && isOvertaken(id, later.id))
        .map(({ id }) => ({ key: later.key, first: id, overtakenBy: later.id })),
    ),
  );
  problems.expectNone('a key keeps its order', 'deliveries were overtaken', overtaken);
}
