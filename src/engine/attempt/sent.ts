import type { Outcome } from '../../dispatch/connection/outcome.ts';
import type { LastFailure } from '../../domain/alert.ts';
import {
  type EndedStatus,
  LANE,
  type LeasedDelivery,
  type LeasedSingle,
  type OpenStatus,
} from '../../domain/delivery.ts';
import type { AnyFinish, Finish } from '../../store/queue/finish.ts';
import type { TraceContext } from '../../tracing/trace-context.ts';

/**
 * The judgement of an outcome, and of an attempt without one.
 * untried   -> no request was made, or it failed by our fault: it says nothing of the endpoint, and nothing is used up;
 * dropped   -> the endpoint dropped the connection of the first request. It is sent once more, which will say how it does;
 * gone      -> the endpoint wants no more deliveries;
 * exhausted -> no tries are left;
 * failed    -> any other failure.
 */
export type Verdict = 'untried' | 'dropped' | TriedVerdict;
type TriedVerdict = 'success' | 'gone' | 'exhausted' | 'failed';

/** The finish of an attempt, with its verdict and the request that was made. */
export type Sent<F extends AnyFinish = Finish> = F & {
  verdict: Verdict;
  /** Null: no request was made. */
  exchange: Exchange | null;
  /** The endpoint may be overloaded: fewer requests at a time help. */
  isStrain: boolean;
};

/** A request was made, and says how the endpoint does. */
export type Tried<F extends AnyFinish = Finish> = Sent<F> & { verdict: TriedVerdict; exchange: Exchange };

export const isTried = <F extends AnyFinish>(sent: Sent<F>): sent is Tried<F> =>
  sent.verdict !== 'untried' && sent.verdict !== 'dropped';

/** The data of a request. */
export interface Exchange {
  outcome: Outcome;
  requestBytes: number;
  /** The trace it was sent with, as its own span or the event's. */
  trace: TraceContext | null;
}

/** A fault of ours is retried soon. */
export const OUR_FAULT_DELAY_MS = 5_000;

export const PROJECT_DELETED = 'The project was deleted.';
export const ENDPOINT_DELETED = 'The endpoint was deleted.';

/** The state of a delivery that was not tried: what its tries so far made it. */
export function stateAsBefore({ numTrials }: LeasedSingle): OpenStatus {
  return numTrials === 0 ? 'Scheduled' : 'Retry';
}

/** An end without a request. */
export function ended<T extends LeasedSingle>(
  delivery: T,
  status: Exclude<EndedStatus, 'Success'>,
  description: string,
): Sent<Finish<T>> {
  return { ...back(delivery, description), status, delayMs: null };
}

/** The end of a delivery that is too late to be sent at this time, in the database's time. Null: it is not. */
export function expired(delivery: LeasedDelivery, nowMs: number): Sent | null {
  const { expiresAtMs } = delivery;
  if (expiresAtMs === null || nowMs < expiresAtMs) return null;
  return ended(
    delivery,
    'Discarded',
    `Expired at ${new Date(expiresAtMs).toISOString()} before it was delivered.`,
  );
}

/** A fault of ours: retried soon, without using a retry. */
export function ourFault<T extends LeasedSingle>(delivery: T, reason: string): Sent<Finish<T>> {
  return { ...back(delivery, `Not sent: ${reason}`), delayMs: OUR_FAULT_DELAY_MS };
}

/**
 * Back to the queue, due at once, without using a retry: a gate is closed, or this node may not send. Without a description
 * the reason is computed on read.
 */
export function back<T extends LeasedSingle>(
  delivery: T,
  description: string | null = null,
): Extract<Sent<Finish<T>>, { status: OpenStatus }> {
  return {
    delivery,
    status: stateAsBefore(delivery),
    description,
    numTrials: delivery.numTrials,
    latencyMs: null,
    delayMs: 0,
    lane: delivery.numTrials === 0 ? delivery.lane : LANE.retry,
    key: delivery.key,
    body: null,
    functionRequest: null,
    attempt: null,
    isSecondRequest: delivery.isSecondRequest,
    metaEvent: null,
    verdict: 'untried',
    exchange: null,
    isStrain: false,
  };
}

/** The text of a failed attempt for people. */
export function lastFailure({ delivery, attempt, description }: Finish): LastFailure {
  return {
    deliveryId: delivery.id,
    status: attempt?.httpStatus ?? null,
    reason: description ?? attempt?.error ?? 'unknown',
  };
}
