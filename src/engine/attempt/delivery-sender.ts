import type { AuthResult, EndpointAuth } from '../../dispatch/client/endpoint-auth.ts';
import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { visibleHeaders } from '../../domain/config/credential-headers.ts';
import { finalCodesOf, isExpired } from '../../domain/config/endpoint.ts';
import {
  isBatch,
  type LeasedDelivery,
  type LeasedMetaEvent,
  type LeasedSingle,
} from '../../domain/delivery.ts';
import type { EndpointId } from '../../domain/ids.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import { gateOf } from '../../routing/gate.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { nextHops } from '../../signing/hops.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';
import type { Finish } from '../../store/queue/finish.ts';
import { storedTrace } from '../../tracing/trace-context.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { NamedLimit } from '../limits/rate-group.ts';
import { requestResult, withoutCredentials } from './attempt-record.ts';
import {
  type BuiltRequest,
  buildRequest,
  credentialNames,
  credentialsOf,
  MAX_RESPONSE_BYTES,
  secretHeaders,
} from './build-request.ts';
import { contentOf } from './content-form.ts';
import { DeliveryTurn, ExpiryTurn, type JudgedTurn, type TurnLeases } from './delivery-turn.ts';
import { type Made, makeBody, NOTHING_MADE } from './make-body.ts';
import { MetaEventRequests } from './meta-event-requests.ts';
import { endAttemptSpan } from './observe-outcome.ts';
import { sendBuilt, type Ways } from './send-built.ts';
import { back, ENDPOINT_DELETED, ended, expired, ourFault, PROJECT_DELETED, type Sent } from './sent.ts';

/**
 * One attempt of one delivery, from the current config to the record of its outcome. First attempt and retry
 * are the same; the number of attempts so far is data. Stages: gate, body, credentials, request, turn (under
 * rate limits), outcome, judgement. Each may end the attempt early with a record.
 */
export interface DeliverySenderDeps extends Ways, EnginePart<'sealer' | 'ids' | 'now' | 'tracer'> {
  cache: Pick<ConfigCache, 'peek' | 'getOrNull'>;
  auth: Pick<EndpointAuth, 'headers' | 'invalidate'>;
  sandbox: Pick<Sandbox, 'run'>;
  /**
   * Records in the database that an at-most-once delivery is about to be sent. False: this node no longer
   * leases it.
   */
  markStarted(delivery: LeasedDelivery): Promise<boolean>;
  /** Whether this node may still send. Functions and credentials take time, in which the lease may expire. */
  maySend(): boolean;
  rateLeases: TurnLeases;
}

const META_EVENT_TIMEOUT_MS = 10_000;
const INTERRUPTED = 'The request was interrupted. The delivery mode is at most once, so it is not retried.';
const INACTIVE = 'The endpoint is inactive; activate it and resend.';
const EXPIRED = 'The endpoint has expired; give it a later expires_at and resend.';
const NOT_LISTENING = 'No device is listening.';
const STRAIN_CODES = new Set(['timeout', 'response_too_slow', 'connection_refused', 'connection_reset']);

export class DeliverySender {
  readonly #deps: DeliverySenderDeps;
  readonly #metaEvents = new MetaEventRequests();

  constructor(deps: DeliverySenderDeps) {
    this.#deps = deps;
  }

  async send(delivery: LeasedDelivery, signal: AbortSignal): Promise<Sent> {
    const { cache } = this.#deps;
    const { projectId } = delivery;
    const routing = cache.peek(projectId) ?? (await cache.getOrNull(projectId));
    if (routing === null) return ended(delivery, 'Discarded', PROJECT_DELETED);
    const endpoint = routing.endpoints.get(delivery.endpointId);
    if (endpoint === undefined) return ended(delivery, 'Discarded', ENDPOINT_DELETED);
    if (delivery.isStarted) {
      return ended(delivery, 'Failure', INTERRUPTED);
    }
    const held = this.#held(delivery, routing);
    if (held !== null) return held;
    const turn = this.#turn(delivery, routing);
    return turn === null
      ? notOurs(delivery, routing)
      : this.#attempt(delivery, { routing, endpoint, signal, turn });
  }

  /** The result of a delivery that expired, or whose gate closed, since it was claimed. Null: it may go. */
  #held(delivery: LeasedDelivery, routing: ProjectRouting): Sent | null {
    const tooLate = expired(delivery, this.#deps.now());
    if (tooLate !== null) return tooLate;
    const { endpointId, subscriptionId, probeFence } = delivery;
    const key = routing.keyOf(endpointId, subscriptionId);
    const row = { key, probeFence, ...(isBatch(delivery) && { lane: delivery.lane }) };
    const { kind } = gateOf(routing, row, this.#deps.now());
    if (kind === 'open' || kind === 'limited') return null;
    if (kind === 'gone') return ended(delivery, 'Discarded', ENDPOINT_DELETED);
    if (kind === 'inactive') return ended(delivery, 'Discarded', this.#whyInactive(routing, endpointId));
    return notOurs(delivery, routing);
  }

  #whyInactive(routing: ProjectRouting, endpointId: EndpointId): string {
    const row = routing.endpoints.get(endpointId)?.row;
    if (row?.delivery === 'device') return NOT_LISTENING;
    return row !== undefined && isExpired(row, this.#deps.now()) ? EXPIRED : INACTIVE;
  }

  /** Undefined: it goes when it is ready. Null: another node has the rate lease, or none has it yet. */
  #turn(delivery: LeasedDelivery, routing: ProjectRouting): JudgedTurn | undefined | null {
    if (limitsOn(delivery, routing).length === 0)
      return delivery.expiresAtMs === null
        ? undefined
        : new ExpiryTurn(() => expired(delivery, this.#deps.now()));
    const { rateLeases, maySend, cache } = this.#deps;
    const { endpointId } = delivery;
    const group = rateLeases.groupOf(endpointId);
    if (group === undefined) return null;
    const current = () => cache.peek(delivery.projectId) ?? routing;
    return new DeliveryTurn({
      rateLeases,
      group,
      deliveryId: delivery.id,
      endpointId,
      maySend,
      limits: () => limitsOn(delivery, current()),
      held: () => this.#held(delivery, current()),
      back: () => notOurs(delivery, current()),
    });
  }

  async #attempt(
    delivery: LeasedDelivery,
    context: {
      routing: ProjectRouting;
      endpoint: RoutedEndpoint;
      signal: AbortSignal;
      turn: JudgedTurn | undefined;
    },
  ): Promise<Sent> {
    const { endpoint, routing, signal, turn } = context;
    const { row } = endpoint;
    const making = await makeBody(this.#deps, delivery, { endpoint, routing });
    if (making.kind === 'not made') return making.sent;
    const { made } = making;
    const auth = await credentialsOf(this.#deps.auth, row);
    if (auth.kind === 'failed') return authFailed(delivery, auth, made);
    const event = openHeaders(this.#deps.sealer, delivery.headers, delivery.eventId);
    const { tracer } = this.#deps;
    const ofEvent = storedTrace(delivery.headers);
    const span = tracer?.child(ofEvent) ?? null;
    const trace = span?.context ?? ofEvent;
    const { id, eventId, eventType, isReplay, idempotencyKey, urlQueryParams } = delivery;
    const { headers, ...content } = isBatch(delivery)
      ? { body: delivery.body, contentType: delivery.contentType, headers: event.headers }
      : contentOf(delivery, { made: made.body, headers: event.headers }, row);
    const about = { id, eventId, eventType, isReplay, idempotencyKey, urlQueryParams };
    const request = buildRequest({ ...about, ...content }, endpoint, {
      config: routing.project.config,
      nowMs: this.#deps.now(),
      authHeaders: auth.headers,
      made: making.request,
      eventHeaders: headers,
      trace,
      hops: nextHops(this.#deps.sealer, event.headers, routing.isIncoming(delivery.sourceId)),
    });
    const tooLarge = oversize(delivery, request, row);
    if (tooLarge !== null) return tooLarge;
    if (!this.#deps.maySend()) return back(delivery);
    // At most once: a delivery that expired is not marked as begun.
    const tooLate = expired(delivery, this.#deps.now());
    if (tooLate !== null) return tooLate;
    if (delivery.deliveryMode === 'at_most_once' && !(await this.#deps.markStarted(delivery)))
      return back(delivery);
    const built = { request, row, config: routing.project.config, about: delivery };
    const outcome = await sendBuilt(this.#deps, built, { signal, turn });
    const unsent = turn === undefined ? null : unwritten(delivery, turn, { outcome, made });
    if (unsent !== null) return unsent;
    endAttemptSpan(tracer, span, { delivery, outcome, url: request.url });
    if (outcome.kind === 'response' && outcome.status === 401) this.#deps.auth.invalidate(row.id);
    const owner = {
      credentials: [
        ...credentialNames(row, auth.headers),
        ...secretHeaders(making.request),
        ...event.credentials,
      ],
      visible: visibleHeaders(routing.project.config),
    };
    return this.#judge(delivery, withoutCredentials(outcome, request, owner), {
      request,
      owner,
      made,
      trace,
      isStrain: isStrain(outcome),
      finalCodes: finalCodesOf(row, routing.project.config),
    });
  }

  /** One try of one meta event: a request to the URL of the project's own config. */
  async sendMetaEvent(event: LeasedMetaEvent, signal: AbortSignal): Promise<Sent<Finish<LeasedMetaEvent>>> {
    const { cache, http, now, maySend } = this.#deps;
    const routing = await cache.getOrNull(event.projectId);
    if (routing?.project.config.meta_event.is_enabled !== true)
      return ended(event, 'Discarded', 'Meta events are switched off.');
    if (routing.project.secret.revealOrNull() === null)
      return ourFault(event, "the project's secret for meta events cannot be opened");
    const request = this.#metaEvents.request(event, routing, now());
    if (!maySend()) return back(event);
    const outcome = await http.send(
      { ...request, timeoutMs: META_EVENT_TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES },
      signal,
    );
    const { config } = routing.project;
    return this.#judge(event, outcome, {
      request,
      owner: { credentials: [], visible: visibleHeaders(config) },
      made: NOTHING_MADE,
      trace: null,
      isStrain: true,
      finalCodes: config.final_status_codes,
    });
  }

  #judge<T extends LeasedSingle>(
    leased: T,
    outcome: Outcome,
    sent: Omit<Parameters<typeof requestResult>[1], 'outcome'> & { finalCodes: readonly number[] },
  ): Sent<Finish<T>> {
    if (isAborted(outcome)) {
      // It may have arrived. At least once means again, at most once means never again.
      return leased.deliveryMode === 'at_most_once' ? ended(leased, 'Failure', INTERRUPTED) : back(leased);
    }
    const { ids, now } = this.#deps;
    const { finalCodes, ...made } = sent;
    return requestResult(leased, { ...made, outcome }, { attemptId: ids.next(), nowMs: now(), finalCodes });
  }
}

/** The result of a delivery whose body its endpoint does not take. Null: it does. */
function oversize(
  delivery: LeasedDelivery,
  { body }: BuiltRequest,
  { max_body_bytes: most }: RoutedEndpoint['row'],
): Sent | null {
  if (most === 0 || body.length <= most) return null;
  const reason = `The body has ${body.length} bytes, and the endpoint takes at most ${most} (max_body_bytes).`;
  return ended(delivery, 'Failure', reason);
}

function isStrain(outcome: Outcome): boolean {
  return outcome.kind === 'response'
    ? outcome.status === 429 || outcome.status >= 500
    : STRAIN_CODES.has(outcome.code);
}

function authFailed(
  delivery: LeasedDelivery,
  auth: Extract<AuthResult, { kind: 'failed' }>,
  made: Made,
): Sent {
  if (auth.ours) return ourFault(delivery, auth.message);
  if (auth.permanent) return ended(delivery, 'Failure', auth.message);
  const delayMs = delivery.retry.intervalSeconds * 1000;
  return { ...back(delivery, auth.message), delayMs, ...made };
}

/**
 * Back to the queue, under the current key: there its gate is asked for, its consumers and the node with the rate lease find
 * it, and its batch is made. The key of a subscription that was deleted has an open gate, so it would be claimed at once.
 */
export function notOurs(delivery: LeasedDelivery, routing: ProjectRouting): Sent {
  const key = routing.keyOf(delivery.endpointId, delivery.subscriptionId);
  return { ...back(delivery), key };
}

/** The result of a delivery that was cancelled before its request was written. Null: there is an outcome to judge. */
function unwritten(
  delivery: LeasedDelivery,
  turn: JudgedTurn,
  { outcome, made }: { outcome: Outcome; made: Made },
): Sent | null {
  if (turn.isTaken || outcome.kind === 'response') return null;
  if (!isAborted(outcome)) {
    if (!outcome.ours) turn.countUnwritten();
    return null;
  }
  const sent = turn.refusal ?? back(delivery);
  // The request from a function is kept for the next attempt.
  return sent.delayMs === null ? sent : { ...sent, ...made };
}

function limitsOn(delivery: LeasedDelivery, routing: ProjectRouting): NamedLimit[] {
  const { endpointId, subscriptionId } = delivery;
  return routing.limitsOf(endpointId, routing.keyOf(endpointId, subscriptionId));
}

const isAborted = (outcome: Outcome): boolean => outcome.kind === 'error' && outcome.code === 'aborted';
