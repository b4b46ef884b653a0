import type { Outcome } from '../../dispatch/connection/outcome.ts';
import type { SeenCertificates } from '../../domain/certificate.ts';
import { type HeldDelivery, LANE } from '../../domain/delivery.ts';
import type { Finish } from '../../store/queue/finish-deliveries.ts';
import type { TraceContext } from '../../tracing/trace-context.ts';

/** What came of a try, and what it says about the endpoint. */
export interface Sent {
  finish: Finish;
  effect: 'success' | 'failure' | 'strain' | 'none';
  /** 410: the endpoint wants no more. */
  isGone?: boolean;
  /** No tries are left. */
  isExhausted?: boolean;
  /** Length of the request, where one was made. */
  durationMs?: number;
  /** Of the connection it was made on. */
  certificates?: SeenCertificates | null;
  /** What the log says of the request, where one was made. */
  exchange?: Exchanged;
}

export interface Exchanged {
  outcome: Outcome;
  requestBytes: number;
  /** The trace it was sent with, as a span of its own or the event's. */
  trace: TraceContext | null;
}

const OUR_FAULT_DELAY_MS = 5_000;

export function identity(
  delivery: HeldDelivery,
): Pick<Finish, 'deliveryId' | 'projectId' | 'endpointId' | 'fence' | 'key' | 'body'> {
  return {
    deliveryId: delivery.id,
    projectId: delivery.projectId,
    endpointId: delivery.endpointId,
    fence: delivery.fence,
    key: delivery.key,
    body: null,
  };
}

/** An end without a request. */
export function ended(delivery: HeldDelivery, status: 'Discarded' | 'Failure', description: string): Sent {
  return {
    finish: { ...handedBack(delivery, description), status, delayMs: null },
    effect: 'none',
  };
}

/** Back to the queue: a gate is closed, or this node may not send. */
export function back(delivery: HeldDelivery, description: string | null): Sent {
  return { finish: handedBack(delivery, description), effect: 'none' };
}

/** Trouble on our side: tried again soon, and nothing used up. */
export function ourFault(delivery: HeldDelivery, reason: string): Sent {
  return {
    finish: { ...handedBack(delivery, `Not tried: ${reason}`), delayMs: OUR_FAULT_DELAY_MS },
    effect: 'none',
  };
}

/** Back to the queue, due at once, nothing used up: a gate closed, or this node is stopping. */
export function handedBack(delivery: HeldDelivery, description: string | null): Finish {
  return {
    ...identity(delivery),
    status: delivery.numTrials === 0 ? 'Scheduled' : 'Retry',
    description,
    numTrials: delivery.numTrials,
    latencyMs: null,
    delayMs: 0,
    lane: delivery.numTrials === 0 ? delivery.lane : LANE.retry,
    attempt: null,
    isSecondRequest: delivery.isSecondRequest,
  };
}
