import type { Stored } from '../stored.ts';
import type { Stretch } from './calm.ts';
import type { Seen } from './verdict.ts';
import { madeAt } from './work-stretches.ts';

interface Span {
  from: number;
  to: number;
}

/** A delivery that waits for so many round trips to the database, and twice the handover, shows an overload. */
const OVERLOAD_ROUND_TRIPS = 3;

/** When deliveries to the healthy endpoint waited, which has no limit. */
export function overloads({ deliveries }: Stored, seen: Seen, { from, to, delayMs }: Stretch): Span[] {
  const arrivals = new Map(seen.receipts.toReversed().map(({ deliveryId, at }) => [deliveryId, at]));
  const allowedMs = 2 * seen.strictness.handoverMs + OVERLOAD_ROUND_TRIPS * delayMs;
  const waits = deliveries
    .filter((d) => seen.characterOf(d.endpoint_id) === 'healthy')
    .map((d) => ({ from: madeAt(d, seen.load), to: arrivals.get(d.id) ?? Infinity }))
    .filter((wait) => wait.from < to && wait.to > from && wait.to - wait.from > allowedMs)
    .toSorted((a, b) => a.from - b.from);
  const merged: Span[] = [];
  for (const wait of waits) {
    const last = merged.at(-1);
    if (last !== undefined && wait.from <= last.to) last.to = Math.max(last.to, wait.to);
    else merged.push({ ...wait });
  }
  return merged;
}
