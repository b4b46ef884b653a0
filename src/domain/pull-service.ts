import type { DeliveryId, EndpointId, EventId, ProjectId } from './ids.ts';

/** The call of a consumer of a pull endpoint. */
export interface PullRequest {
  projectId: ProjectId;
  endpointId: EndpointId;
  max: number;
  waitMs: number;
  leaseSeconds: number;
}

/** A delivery that a consumer has until its lease ends. */
export interface PulledDelivery {
  id: DeliveryId;
  eventId: EventId;
  eventType: string;
  /** Names this lease in the result. */
  lease: string;
  /** In which it waited. */
  lane: number;
  /** From 1. */
  attempt: number;
  leasedUntilMs: number;
  /** The query string of the request that brought the event, which a push has in its URL. Empty: none. */
  urlQueryParams: string;
  headers: Record<string, string>;
  /** Names of the headers with secrets of the project or the endpoint. A link that may not see secrets gets no values. */
  secretHeaders: readonly string[];
  body: Buffer;
}

/** The result that a consumer reports. */
export interface PullResult {
  id: string;
  lease: string;
  ok: boolean;
  /** Why it failed. */
  reason: string;
  /** The answer that a device got from its local server. Null: the consumer called none. */
  answer: LocalAnswer | null;
}

export interface LocalAnswer {
  url: string;
  status: number;
  headers: Record<string, string[]>;
  body: Buffer;
  ms: number;
}

/**
 * `recorded`: it counts; `late`: recorded, and it changed nothing; `conflict`: another result of the lease counts;
 * `unknown`: there is no such lease.
 */
export const resultStates = ['recorded', 'late', 'conflict', 'unknown'] as const;
export type ResultState = (typeof resultStates)[number];

/** Hands out deliveries of pull endpoints and takes results. */
export interface PullService {
  /** Resolves when deliveries are there, the time is over, or the signal fires. */
  pull(request: PullRequest, signal: AbortSignal): Promise<PulledDelivery[]>;
  /** One state per result, in order. */
  report(
    at: { projectId: ProjectId; endpointId: EndpointId },
    results: readonly PullResult[],
  ): Promise<ResultState[]>;
  /** A consumer left without results: its deliveries can be taken by another at once, and use no retry. */
  release(projectId: ProjectId, deliveries: readonly PulledDelivery[]): Promise<void>;
  /** Calls that wait are answered, and none waits from now on. */
  stop(): Promise<void>;
}
