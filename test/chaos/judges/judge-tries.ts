import { profileOf } from '../characters.ts';
import type { Stored } from '../stored.ts';
import { whyUnrecorded } from './duplicates.ts';
import type { Problems } from './problems.ts';
import { showReceipt, showTime } from './show.ts';
import type { Seen } from './verdict.ts';

/**
 * Requests and attempts correspond one to one, by the delivery and the signed time. A request without an
 * attempt was not recorded, which is allowed only if its process was killed first. An endpoint that answers
 * every request in time is tried once. A second counted attempt was caused by a fault of ours.
 */
export function judgeTries({ deliveries, tries }: Stored, seen: Seen, problems: Problems): void {
  const recorded = new Map<string, number>();
  for (const { delivery_id, sent } of tries) {
    const key = `${delivery_id} ${sent}`;
    recorded.set(key, (recorded.get(key) ?? 0) + 1);
  }
  const unrecorded = seen.receipts.filter((receipt) => {
    const key = `${receipt.deliveryId} ${receipt.sentAt / 1000}`;
    const left = recorded.get(key) ?? 0;
    recorded.set(key, left - 1);
    return left <= 0 && whyUnrecorded(receipt, seen.faults).length === 0;
  });
  problems.expectNone(
    'every request is recorded',
    'requests arrived and are not recorded',
    unrecorded.map((receipt) => `${receipt.deliveryId} ${showReceipt(receipt, seen)}`),
  );
  const triesOf = Map.groupBy(tries, ({ delivery_id }) => delivery_id);
  const arrived = Map.groupBy(seen.receipts, ({ deliveryId }) => deliveryId);
  const again = deliveries.filter(
    (d) => d.num_trials > 1 && profileOf(seen.characterOf(d.endpoint_id)).isSteady,
  );
  for (const [character, broken] of Map.groupBy(again, (d) => seen.characterOf(d.endpoint_id)))
    problems.expectNone(
      'our faults use no retry',
      `deliveries to ${character} were attempted more than once although each was answered`,
      broken.map(({ id }) => ({
        id,
        tries: triesOf
          .get(id)
          ?.map(({ started, error }) => `${showTime(started, seen)} ${error ?? 'answered'}`),
        arrived: arrived.get(id)?.map((receipt) => showReceipt(receipt, seen)),
      })),
    );
}
