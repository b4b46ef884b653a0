import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { LANE, type LeasedSingle } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import type { Finish, NextState } from '../../store/queue/finish.ts';
import { finalReason } from './receiver-wishes.ts';
import { parseRetryAfter, retryDelayMs } from './retry-policy.ts';
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
