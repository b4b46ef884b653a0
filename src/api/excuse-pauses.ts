import type { Server } from 'node:http';
import { stoodStillMs } from '../platform/patient-timer.ts';

/**
 * Callers have some time to send a request, and Node looks at all connections now and then for the ones that took
 * longer. Time in which this process stood still is not theirs, so for requests that may have begun before it, the limit
 * is longer by it. Node reads the limit each time it looks: then it is worked out.
 *
 * `looks` has how long the process had stood still at earlier looks: one from before any request that is within the
 * limit, and those since.
 */
export function excusePauses(server: Server, limitMs: number): void {
  let looks = [{ at: performance.now(), stoodStill: stoodStillMs() }];
  const limit = (): number => {
    const now = { at: performance.now(), stoodStill: stoodStillMs() };
    looks.push(now);
    const ranMs = (since: (typeof looks)[number]) => now.at - since.at - (now.stoodStill - since.stoodStill);
    const first = looks.findLastIndex((look) => ranMs(look) > limitMs);
    looks = looks.slice(Math.max(first, 0));
    return limitMs + now.stoodStill - (looks[0] ?? now).stoodStill;
  };
  for (const name of ['requestTimeout', 'headersTimeout'])
    Object.defineProperty(server, name, { get: limit });
}
