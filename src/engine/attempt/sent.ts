import type { Outcome } from '../../dispatch/connection/outcome.ts';
import type { LastFailure } from '../../domain/alert.ts';
import {
  type EndedStatus,
  LANE,
  type Leased,
  type LeasedDelivery,
  type OpenStatus,
} from '../../domain/delivery.ts';
import type { Finish } from '../../store/queue/finish.ts';
import type { TraceContext } from '../../tracing/trace-context.ts';

/** The result of an attempt, with its record. */
export type Sent =
  | Tried
  /** The endpoint dropped the connection of the first request. The second request will say how the endpoint does. */
  | { kind: 'dropped'; finish: Finish; exchange: Exchange }
  /** No request was made, or it failed by our fault: it says nothing of the endpoint. */
  | { kind: 'untried'; finish: Finish; exchange: Exchange | null };

/** A request was made, and says how the endpoint does. */
export type Tried =
  | { kind: 'success'; finish: Finish; exchange: Exchange }
  | {
      kind: 'failure';
      finish: Finish;
      exchange: Exchange;
      why: Extract<Verdict, 'gone' | 'exhausted' | 'failed'>;
      /** The endpoint may be overloaded: fewer requests at a time help. */
      isStrain: boolean;
    };

/**
 * The judgement of an outcome. `ours`: our fault, nothing used up; `dropped`: to be sent once more; `gone`: 410, the endpoint
 * wants no more; `exhausted`: no tries are left; `failed`: any other failure.
 */
export type Verdict = 'success' | 'ours' | 'dropped' | 'gone' | 'exhausted' | 'failed';

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
export function stateAsBefore({ numTrials }: Leased): OpenStatus {
  return numTrials === 0 ? 'Scheduled' : 'Retry';
}

/** An end without a request. */
export function ended(delivery: Leased, status: Exclude<EndedStatus, 'Success'>, description: string): Sent {
  return untried({ ...handedBack(delivery, description), status, delayMs: null });
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

/** Back to the queue: a gate is closed, or this node may not send. The reason is computed on read. */
export function back(delivery: Leased): Sent {
  return untried(handedBack(delivery, null));
}

/** A fault of ours: retried soon, without using a retry. */
export function ourFault(delivery: Leased, reason: string): Sent {
  return untried({ ...handedBack(delivery, `Not sent: ${reason}`), delayMs: OUR_FAULT_DELAY_MS });
}

/** The result of a request. */
export function triedAs(
  verdict: Verdict,
  finish: Finish,
  { exchange, isStrain }: { exchange: Exchange; isStrain: boolean },
): Sent {
  switch (verdict) {
    case 'success':
      return { kind: 'success', finish, exchange };
    case 'dropped':
      return { kind: 'dropped', finish, exchange };
    case 'ours':
      return { kind: 'untried', finish, exchange };
    case 'gone':
    case 'exhausted':
    case 'failed':
      return { kind: 'failure', finish, exchange, why: verdict, isStrain };
  }
}

export function untried(finish: Finish): Sent {
  return { kind: 'untried', finish, exchange: null };
}

/** Back to the queue, due at once, without using a retry: a gate closed, or this node is stopping. */
export function handedBack<T extends Leased>(
  delivery: T,
  description: string | null,
): Extract<Finish<T>, { status: OpenStatus }> {
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
  };
}

/** The text of a failed attempt for people. */
export function lastFailure({ finish }: Pick<Tried, 'finish'>): LastFailure {
  return {
    deliveryId: finish.delivery.id,
    status: finish.attempt?.httpStatus ?? null,
    reason: finish.description ?? finish.attempt?.error ?? 'unknown',
  };
}
