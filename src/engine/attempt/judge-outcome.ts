import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { LANE, type LeasedSingle, type RetryPolicy } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import type { Finish, NextState } from '../../store/queue/finish.ts';
import { OUR_FAULT_DELAY_MS, stateAsBefore, type Verdict } from './sent.ts';

/** The effect of an outcome on its delivery. */
type Judgement = NextState &
  Pick<Finish, 'description' | 'numTrials' | 'lane' | 'latencyMs' | 'isSecondRequest'> & {
    verdict: Verdict;
  };

/** A fault of ours uses no retry, for a day at most. After that it may not be ours. */
const OUR_FAULT_FOR_MS = 86_400_000;
/** Errors before a byte of the request is sent. A retry cannot deliver twice. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'connection_refused',
  'unreachable',
  'dns_not_found',
  'dns_failed',
  'tls_failed',
  'address_blocked',
  'bad_url',
  'invalid_request',
  'proxy_failed',
  'client_certificate_invalid',
  'local_resource',
  'sign_in_refused',
  'unroutable',
  'message_too_large',
  'message_unfit',
]);

export function judgeOutcome(
  delivery: LeasedSingle,
  outcome: Outcome,
  /** `finalCodes`: the statuses that end a delivery. */
  context: { nowMs: number; random: number; finalCodes: readonly number[] },
): Judgement {
  const numTrials = delivery.numTrials + 1;
  const base = { numTrials, lane: LANE.retry, latencyMs: null, isSecondRequest: false };
  const failure = { ...base, status: 'Failure', delayMs: null } as const;
  const asBefore = {
    ...base,
    numTrials: delivery.numTrials,
    status: stateAsBefore(delivery),
    lane: delivery.lane,
  };
  const isYoung = () => context.nowMs - idTime(delivery.id) < OUR_FAULT_FOR_MS;
  const isOnce = delivery.deliveryMode === 'at_most_once';
  if (outcome.kind === 'error' && outcome.ours && isYoung() && !(isOnce && outcome.mayHaveArrived)) {
    return {
      ...asBefore,
      verdict: 'untried',
      description: `Not sent: ${outcome.message}`,
      delayMs: OUR_FAULT_DELAY_MS,
      isSecondRequest: delivery.isSecondRequest,
    };
  }
  if (outcome.kind === 'response' && outcome.status >= 200 && outcome.status < 300) {
    return {
      ...base,
      verdict: 'success',
      status: 'Success',
      delayMs: null,
      description: null,
      // Sent by hand, it may go before its time.
      latencyMs: Math.max(0, context.nowMs - delivery.acceptedAtMs),
    };
  }
  const reason =
    outcome.kind === 'response' ? `The endpoint answered ${outcome.statusText}` : outcome.message;
  const final = finalReason(outcome, context.finalCodes);
  if (final !== null) return { ...failure, verdict: final.verdict, description: `${reason}${final.note}` };
  if (isOnce && mayHaveArrived(outcome)) {
    const description = `${reason}; at most once, so it is not retried`;
    return { ...failure, verdict: 'failed', description };
  }
  if (outcome.kind === 'error' && outcome.dropped && !delivery.isSecondRequest) {
    return {
      ...asBefore,
      verdict: 'dropped',
      description: `${outcome.message}; sent once more`,
      delayMs: 0,
      isSecondRequest: true,
    };
  }
  const failures = numTrials - delivery.budgetFrom;
  const { retryLimit } = delivery.retry;
  if (failures >= retryLimit) {
    const used = retryLimit === 1 ? 'its only attempt is' : `all ${retryLimit} attempts are`;
    return { ...failure, verdict: 'exhausted', description: `${reason}; ${used} used up` };
  }
  const delayMs = retryDelayMs(delivery.retry, {
    failures,
    retryAfterSeconds: askedToWait(outcome, context.nowMs),
    random: context.random,
  });
  return { ...base, verdict: 'failed', status: 'Retry', description: reason, delayMs };
}

const mayHaveArrived = (outcome: Outcome): boolean =>
  outcome.kind === 'response' || (outcome.mayHaveArrived ?? !NOT_SENT.has(outcome.code));

function askedToWait(outcome: Outcome, nowMs: number): number | null {
  if (outcome.kind !== 'response') return null;
  return parseRetryAfter(outcome.headers['retry-after']?.[0], nowMs);
}

/**
 * The wishes of a receiver: a header of its answer (`webhook-delivery`, as Svix has it), or a status that ends a delivery.
 * Values that are not known are ignored.
 */
const HEADER = 'webhook-delivery';
const GONE = 410;
const PAYLOAD_TOO_LARGE = 413;

type Wish = 'disable' | 'abort-message';

function wishes(outcome: Outcome, wish: Wish): boolean {
  if (outcome.kind !== 'response') return false;
  const values = outcome.headers[HEADER] ?? [];
  return values.some((value) => value.split(',').some((one) => one.trim().toLowerCase() === wish));
}

/** Also with a success: then the delivery has arrived, and is the last. */
export const asksToDisable = (outcome: Outcome): boolean => wishes(outcome, 'disable');

/** It has no fault that half of a batch might not have: it wants none of it again. */
export const asksToAbort = (outcome: Outcome): boolean => wishes(outcome, 'abort-message');

/** Why a failed delivery is not tried again, as the end of its description. Null: it may be. */
function finalReason(
  outcome: Outcome,
  finalCodes: readonly number[],
): { verdict: 'gone' | 'failed'; note: string } | null {
  if (outcome.kind !== 'response')
    return outcome.code === 'message_too_large' || outcome.code === 'message_unfit'
      ? { verdict: 'failed', note: '; it will never fit, so it is not retried' }
      : null;
  if (asksToDisable(outcome))
    return { verdict: 'gone', note: ` with ${HEADER}: disable; it wants no more deliveries` };
  if (asksToAbort(outcome))
    return { verdict: 'failed', note: ` with ${HEADER}: abort-message; it wants no retry` };
  if (!finalCodes.includes(outcome.status)) return null;
  if (outcome.status === GONE) return { verdict: 'gone', note: '; it wants no more deliveries' };
  const why =
    outcome.status === PAYLOAD_TOO_LARGE ? 'the payload is too large for it' : 'this status is final';
  return { verdict: 'failed', note: `; ${why}, so it is not retried` };
}

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
