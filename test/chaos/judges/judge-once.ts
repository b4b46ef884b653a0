import { profileOf } from '../characters.ts';
import type { Stored } from '../stored.ts';
import { whyUnrecorded } from './duplicates.ts';
import type { Problems } from './problems.ts';
import { showReceipt } from './show.ts';
import type { Seen } from './verdict.ts';

/**
 * At most once: no delivery arrives twice for any reason, and each ends. It ends as Failure if the endpoint
 * did not answer, or if a fault prevented the outcome from being recorded. An answer to a node that was only
 * paused must count.
 */
const PROMISE = 'at most once is sent once';

export function judgeOnce({ deliveries }: Stored, seen: Seen, problems: Problems): void {
  const arrived = Map.groupBy(seen.receipts, ({ deliveryId }) => deliveryId);
  const once = deliveries.filter((d) => profileOf(seen.characterOf(d.endpoint_id)).isOnce);
  problems.expectNone(
    PROMISE,
    'deliveries arrived more than once',
    once
      .map(({ id }) => ({ id, arrived: arrived.get(id) ?? [] }))
      .filter((delivery) => delivery.arrived.length > 1)
      .map((delivery) => ({
        id: delivery.id,
        arrived: delivery.arrived.map((one) => showReceipt(one, seen)),
      })),
  );
  problems.expectNone(
    PROMISE,
    'deliveries have no end',
    once.filter((d) => d.status !== 'Success' && d.status !== 'Failure'),
  );
  problems.expectNone(
    PROMISE,
    'deliveries were answered 200 and ended as Failure, and no fault explains it',
    once
      .filter((d) => {
        const [receipt] = arrived.get(d.id) ?? [];
        if (d.status !== 'Failure' || receipt?.isAcknowledged !== true) return false;
        return whyUnrecorded(receipt, seen.faults).length === 0;
      })
      .map(({ id, description }) => ({ id, description, arrived: showReceipt(arrived.get(id)![0]!, seen) })),
  );
}
