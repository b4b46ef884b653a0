import type { RetryPolicy } from '../../domain/delivery.ts';

/**
 * When a failed delivery is tried again: a pure function of what was set and what happened.
 *
 * linear: the interval, always. exponential: interval x 2^n after the (n+1)th failure, never more than the
 * maximum, plus up to 20 % at random so that deliveries that failed together do not come back together.
 * Examples for an interval of 10 s and a maximum of 7,200 s: 10-12 s, 20-24 s, 40-48 s, ... 7,200-8,640 s.
 * A Retry-After of the endpoint lengthens the wait, up to the maximum; it never shortens it.
 */
const JITTER = 0.2;

export function retryDelayMs(
  policy: Omit<RetryPolicy, 'retryLimit'>,
  failure: {
    /** Failures so far in this budget, this one included. */ failures: number;
    retryAfterSeconds: number | null;
    random: number;
  },
): number {
  const { strategy, intervalSeconds, maxRetrySeconds } = policy;
  const growth = strategy === 'exponential' ? 2 ** Math.min(failure.failures - 1, 40) : 1;
  const seconds =
    strategy === 'exponential' ? Math.min(intervalSeconds * growth, maxRetrySeconds) : intervalSeconds;
  const jittered = strategy === 'exponential' ? seconds * (1 + JITTER * failure.random) : seconds;
  const asked = Math.min(failure.retryAfterSeconds ?? 0, maxRetrySeconds);
  return Math.round(Math.max(jittered, asked) * 1000);
}

/** Seconds asked for by a Retry-After header: a number, or a date. null: none, or not understood. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) || !/[a-z]/i.test(text) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
