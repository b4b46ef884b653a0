import type { HttpClient } from '../dispatch/http-client.ts';
import type { Outcome } from '../dispatch/outcome.ts';
import { AppError } from '../domain/errors.ts';
import { type HeldDelivery, LANE } from '../domain/event-delivery.ts';
import type { IdFactory } from '../domain/ids.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { ProjectRouting, RoutedEndpoint } from '../routing/project-routing.ts';
import type { Finish } from '../store/finish-deliveries.ts';
import { attemptRecord } from './attempt-record.ts';
import { buildRequest } from './build-request.ts';
import { judgeOutcome } from './judge-outcome.ts';

/**
 * One try of one delivery, from the config as it is now to what is to be recorded. First try and retry are the
 * same; the number of tries so far is data.
 */
export interface SenderDeps {
  cache: ConfigCache;
  http: HttpClient;
  ids: IdFactory;
  /** The database's time in milliseconds. */
  now(): number;
  /** An endpoint answered 410. */
  disableEndpoint(projectId: string, endpointId: string, reason: string): Promise<void>;
}

const DEFAULT_TIMEOUT_SECONDS = 10;
const MAX_TIMEOUT_SECONDS = 120;
const MAX_RESPONSE_BYTES = 51_200;

export class DeliverySender {
  readonly #deps: SenderDeps;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  async send(delivery: HeldDelivery, signal: AbortSignal): Promise<Finish> {
    const routing = await this.#routing(delivery.projectId);
    if (routing === null) return ended(delivery, 'Discarded', 'The project was deleted.');
    const endpoint = routing.endpoints.get(delivery.endpointId);
    if (endpoint === undefined) return ended(delivery, 'Discarded', 'The endpoint was deleted.');
    switch (endpoint.row.status) {
      case 'inactive':
        return ended(delivery, 'Discarded', 'The endpoint is inactive; activate it and resend.');
      case 'paused':
        return handedBack(delivery, 'Held: the endpoint is paused.');
      case 'active':
        return this.#attempt(delivery, { routing, endpoint, signal });
    }
  }

  async #routing(projectId: string): Promise<ProjectRouting | null> {
    try {
      return this.#deps.cache.peek(projectId) ?? (await this.#deps.cache.get(projectId));
    } catch (error) {
      if (error instanceof AppError && error.code === 'project_not_found') return null;
      throw error;
    }
  }

  async #attempt(
    delivery: HeldDelivery,
    context: { routing: ProjectRouting; endpoint: RoutedEndpoint; signal: AbortSignal },
  ): Promise<Finish> {
    const { http, ids, now } = this.#deps;
    const { endpoint, routing, signal } = context;
    const authHeaders = authenticationHeaders(endpoint);
    const request = buildRequest(delivery, endpoint, {
      config: routing.project.config,
      nowMs: now(),
      authHeaders,
    });
    const timeoutSeconds = Math.min(
      endpoint.row.http_timeout || DEFAULT_TIMEOUT_SECONDS,
      MAX_TIMEOUT_SECONDS,
    );
    const outcome = await http.send(
      { ...request, timeoutMs: timeoutSeconds * 1000, maxResponseBytes: MAX_RESPONSE_BYTES },
      signal,
    );
    if (outcome.kind === 'error' && outcome.code === 'aborted') return handedBack(delivery, null);
    const judgement = judgeOutcome(delivery, outcome, { nowMs: now(), random: Math.random() });
    const { disablesEndpoint, ...finish } = judgement;
    if (disablesEndpoint)
      await this.#deps.disableEndpoint(delivery.projectId, delivery.endpointId, 'it answered 410 Gone');
    const authHeaderNames = new Set(authHeaders.map(([name]) => name.toLowerCase()));
    return {
      ...identity(delivery),
      ...finish,
      attempt: wasTried(outcome)
        ? attemptRecord(ids.next(), request, {
            outcome,
            authHeaderNames,
            succeeded: finish.status === 'Success',
          })
        : null,
    };
  }
}

const wasTried = (outcome: Outcome): boolean => outcome.kind === 'response' || !outcome.ours;

function authenticationHeaders({ row }: RoutedEndpoint): [string, string][] {
  const { authentication } = row.secret;
  if (authentication?.type !== 'api_key') return [];
  return [[authentication.api_key.header_name, authentication.api_key.header_value]];
}

function identity(delivery: HeldDelivery): Pick<Finish, 'deliveryId' | 'projectId' | 'endpointId' | 'fence'> {
  return {
    deliveryId: delivery.id,
    projectId: delivery.projectId,
    endpointId: delivery.endpointId,
    fence: delivery.fence,
  };
}

function ended(delivery: HeldDelivery, status: 'Discarded' | 'Failure', description: string): Finish {
  return {
    ...identity(delivery),
    status,
    description,
    numTrials: delivery.numTrials,
    latencyMs: null,
    delayMs: null,
    lane: delivery.lane,
    attempt: null,
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
  };
}
