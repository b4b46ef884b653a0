/**
 * An exact sliding window: at most `count` sends in any interval of `durationMs`, wherever it starts.
 *
 * A grant is a time at which one send may start. It may start up to START_DELAY_MS late, so a grant comes no sooner
 * than the duration plus that delay after the grant `count` places before it: however late the earlier one started
 * and however prompt the later one is, they lie a full duration apart. Fixed windows or token buckets would let up to
 * twice the count through.
 */
export interface RateLimit {
  count: number;
  durationMs: number;
}

/** Either figure zero: no limit. */
export function rateLimit(count: number, durationSeconds: number): RateLimit | null {
  return count > 0 && durationSeconds > 0 ? { count, durationMs: durationSeconds * 1000 } : null;
}

/** How late a granted send may start; past it the grant is void. */
export const START_DELAY_MS = 150;

/** The `wanted` next times that all limits allow, not later than `until`. `grants` are each limit's latest, oldest first. */
export function nextGrants(
  limits: readonly { limit: RateLimit; grants: readonly number[] }[],
  ask: { wanted: number; nowMs: number; untilMs: number },
): number[] {
  const histories = limits.map(({ limit, grants }) => ({ limit, times: grants.slice(-limit.count) }));
  const given: number[] = [];
  for (let i = 0; i < ask.wanted; i++) {
    const at = Math.max(ask.nowMs, ...histories.map(earliest));
    if (at > ask.untilMs) break;
    given.push(at);
    for (const { times } of histories) times.push(at);
  }
  return given;
}

/** When the next send would be allowed. */
export function nextFree(
  limits: readonly { limit: RateLimit; grants: readonly number[] }[],
  nowMs: number,
): number {
  return Math.max(nowMs, ...limits.map(({ limit, grants }) => earliest({ limit, times: grants })));
}

function earliest({ limit, times }: { limit: RateLimit; times: readonly number[] }): number {
  const last = times.at(-1) ?? 0;
  const blocking = times.at(-limit.count);
  if (blocking === undefined || times.length < limit.count) return last;
  return Math.max(last, blocking + limit.durationMs + START_DELAY_MS);
}
