import type { RetryPolicy } from '../../domain/delivery.ts';

const JITTER = 0.2;

/**
 * How long a failed delivery waits: a pure function of what was set and what happened. `judgeOutcome` calls it. Three
 * waits are not computed here: a fault of ours, a connection that was dropped, and a token server that fails.
 *
 * schedule: the next step of the list; the maximum does not bound it, because people wrote each step. linear: the
 * interval. exponential: interval x 2^n after the (n+1)th failure, capped at the maximum. Each is up to 20 % longer at
 * random, so that deliveries that failed together do not come back together. Examples of exponential for an interval of
 * 10 s and a maximum of 7,200 s: 10-12 s, 20-24 s, 40-48 s, ... 7,200-8,640 s. A Retry-After of the endpoint lengthens
 * the wait, up to the maximum; it never shortens it.
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
  const own = ownSeconds(policy, failure.failures) * (1 + JITTER * failure.random);
  return Math.round(Math.max(own, asked) * 1000);
}

function ownSeconds(
  { strategy, intervalSeconds, maxRetrySeconds, schedule }: Omit<RetryPolicy, 'retryLimit'>,
  failures: number,
): number {
  const step = schedule?.[failures - 1] ?? schedule?.at(-1);
  if (step !== undefined) return step;
  if (strategy === 'linear') return intervalSeconds;
  return Math.min(intervalSeconds * 2 ** Math.min(failures - 1, 40), maxRetrySeconds);
}

/** Seconds asked for by a Retry-After header: a number, or a date. null: none, or not understood. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) || !/[a-z]/i.test(text) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
}
