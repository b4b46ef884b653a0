import { profileOf } from './characters.ts';
import { whyUnrecorded } from './duplicates.ts';
import type { Problems } from './problems.ts';
import type { Stored } from './stored.ts';
import type { Seen } from './verdict.ts';

/**
 * At most once: no delivery arrives twice, for whatever reason, and each ends. It ends as Failure where the endpoint
 * did not answer, or where a fault kept the outcome from being recorded; an answer that we gave to a node which was
 * only paused must count.
 */
const PROMISE = 'at most once is sent once';

export function judgeOnce({ deliveries }: Stored, seen: Seen, problems: Problems): void {
  const arrived = Map.groupBy(seen.receipts, ({ deliveryId }) => deliveryId);
  const once = deliveries.filter((d) => profileOf(seen.characterOf(d.endpoint_id)).isOnce);
  problems.expectNone(
    PROMISE,
    'deliveries arrived more than once',
    once.map((d) => arrived.get(d.id) ?? []).filter((receipts) => receipts.length > 1),
  );
  problems.expectNone(
    PROMISE,
    'deliveries have no end',
    once.filter((d) => d.status !== 'Success' && d.status !== 'Failure'),
  );
  problems.expectNone(
    PROMISE,
    'deliveries were answered 200 and ended as Failure, and no fault explains it',
    once.filter((d) => {
      const [receipt] = arrived.get(d.id) ?? [];
      if (d.status !== 'Failure' || receipt?.isAcknowledged !== true) return false;
      return whyUnrecorded(receipt, seen.faults).length === 0;
    }),
  );
}
