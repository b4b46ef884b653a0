import type { FaultKind } from '../fault-schedule.ts';
import type { Seen } from './verdict.ts';

/** The longest time without an accepted event, and without a request at any endpoint, in faults of a kind. */
export interface Pause {
  kind: FaultKind;
  times: number;
  acceptingMs: number;
  sendingMs: number;
}

/** A fault is felt for so long after its end: a node comes back, or its work moves. */
const AFTER_MS = 5_000;

export function longestPauses({ load, receipts, faults }: Seen): Pause[] {
  const accepted = [...load.accepted.values()].map(({ at }) => at).toSorted((a, b) => a - b);
  // With a slow database the load has only events of limited endpoints for seconds, so one endpoint would show nothing.
  const sent = receipts.map(({ at }) => at).toSorted((a, b) => a - b);
  const byKind = Map.groupBy(faults, ({ kind }) => kind);
  return [...byKind].map(([kind, own]) => ({
    kind,
    times: own.length,
    acceptingMs: own.reduce((most, fault) => Math.max(most, longestGap(accepted, fault)), 0),
    sendingMs: own.reduce((most, fault) => Math.max(most, longestGap(sent, fault)), 0),
  }));
}

/** Between two times of which one is in the span. */
function longestGap(times: readonly number[], { from, to }: { from: number; to: number }): number {
  let longest = 0;
  for (let n = 1; n < times.length; n++) {
    const [before, after] = [times[n - 1] as number, times[n] as number];
    if (after >= from && before <= to + AFTER_MS) longest = Math.max(longest, after - before);
  }
  return longest;
}
