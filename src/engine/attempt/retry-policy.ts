import type { RetryPolicy } from '../../domain/delivery.ts';

const JITTER = 0.2;

/**
 * How long a failed delivery waits: a pure function of what was set and what happened. `judgeOutcome` calls it. Three
 * waits are not computed here: a fault of ours, a connection that was dropped, and a token server that fails.
 *
 * linear: the interval, always. exponential: interval x 2^n after the (n+1)th failure, capped at the maximum, then up
 * to 20 % more at random, so that deliveries that failed together do not come back together. Examples for an interval
 * of 10 s and a maximum of 7,200 s: 10-12 s, 20-24 s, 40-48 s, ... 7,200-8,640 s. A Retry-After of the endpoint
 * lengthens the wait, up to the maximum; it never shortens it.
 */
export function retryDelayMs(
  policy: Omit<RetryPolicy, 'retryLimit'>,
  failure: {
    /** Failures so far in this budget, this one included. */ failures: number;
    retryAfterSeconds: number | null;
    random: number;
  },
): number {
  const asked = Math.min(failure.retryAfterSeconds ?? 0, policy.maxRetrySeconds);
  return Math.round(Math.max(ownSeconds(policy, failure), asked) * 1000);
}

function ownSeconds(
  { strategy, intervalSeconds, maxRetrySeconds }: Omit<RetryPolicy, 'retryLimit'>,
  { failures, random }: { failures: number; random: number },
): number {
  if (strategy === 'linear') return intervalSeconds;
  const grown = intervalSeconds * 2 ** Math.min(failures - 1, 40);
  return Math.min(grown, maxRetrySeconds) * (1 + JITTER * random);
}

/** Seconds asked for by a Retry-After header: a number, or a date. null: none, or not understood. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) || !/[a-z]/i.test(text) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
