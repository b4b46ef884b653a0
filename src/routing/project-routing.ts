import { createPrivateKey } from 'node:crypto';
import { type AlertKind, certificateSideOf, certificateSubject } from '../domain/alert.ts';
import type { CertificateSide } from '../domain/certificate.ts';
import { type Batch, batchOf } from '../domain/config/batch.ts';
import { type Breaker, CLOSED } from '../domain/config/circuit-breaker.ts';
import { isFetched } from '../domain/config/endpoint.ts';
import type { ProjectConfig } from '../domain/config/project-config.ts';
import type { ProjectKey } from '../domain/config/project-key.ts';
import { type RateLimit, rateLimit } from '../domain/config/rate-limit.ts';
import type { QueueKey } from '../domain/delivery.ts';
import type { EndpointId, SubscriptionId } from '../domain/ids.ts';
import { EventTypeIndex } from '../matcher/event-type.ts';
import type { FilterSubject } from '../matcher/filter-subject.ts';
import { LARGE_JSON, parseInSlices } from '../platform/json/parse-in-slices.ts';
import { nextTurn } from '../platform/time/next-turn.ts';
import { compileSigner, type Signer } from '../signing/sign-delivery.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';
import type { ProjectRow } from '../store/config/projects.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { EventSchemas } from './event-schemas.ts';
import { eventSubject, type FilterableEvent } from './event-subject.ts';
import type { RoutedFilter, RoutedSubscription } from './routed-subscription.ts';

/**
 * A project's config, compiled for matching events and sending deliveries. It is an immutable value of one
 * version. A change creates a new one, which shares the unchanged parts. Everything that can be computed per
 * change is not computed per event.
 */
export interface RoutedEndpoint {
  row: EndpointRow;
  signer: Signer;
  limit: RateLimit | null;
}

/** The target of an event. Subscriptions still decide. */
export type EventTarget =
  /** One delivery per endpoint. */
  | { kind: 'broadcast' }
  /** One delivery per subscription, as for incoming webhooks. */
  | { kind: 'subscribers' }
  | { kind: 'endpoints'; endpointIds: readonly string[] }
  | { kind: 'owner'; ownerId: string }
  /** This subscription, regardless of its filters. */
  | { kind: 'subscription'; subscriptionId: string }
  /** The endpoint at this URL, if there is one. `reason` says why none was created. */
  | { kind: 'url'; url: string; reason: string };

export interface Matchable extends FilterableEvent {
  target: EventTarget;
  eventType: string;
  sourceId: string | null;
}

/** After about 1 ms of filters other work has its turn. Only the long reads of a filter are divided. */
export const STEPS_AT_ONCE = 50_000;

/** The state of an alert that was raised at least once. */
export interface KnownAlert {
  kind: AlertKind;
  isRaised: boolean;
}

/** One filter record of one subscription, indexed by its event type. */
interface Candidate {
  subscription: RoutedSubscription;
  filter: RoutedFilter;
}

/** How far the match of an event has come. */
interface Matching {
  wanted(endpointId: string): boolean;
  candidates: readonly Candidate[];
  /** How many of the candidates. */
  tried: number;
  matched: Map<string, RoutedSubscription>;
  isLarge: boolean;
  /** The filter that pauses. */
  paused: Generator<void, boolean> | undefined;
}

export class ProjectRouting {
  readonly project: ProjectRow;
  readonly endpoints: ReadonlyMap<string, RoutedEndpoint>;
  readonly subscriptions: ReadonlyMap<string, RoutedSubscription>;
  readonly sources: ReadonlyMap<string, SourceRow>;
  /** Undefined: payloads are not checked. */
  readonly schemas: EventSchemas | undefined;
  readonly #byEventType: EventTypeIndex<Candidate>;
  /** Made when first needed: most projects have no dynamic events, and none for an owner that matches nothing. */
  #byUrl: ReadonlyMap<string, RoutedEndpoint> | undefined;
  #owners: ReadonlySet<string> | undefined;
  /** The oldest subscription of each endpoint. */
  readonly #oldest: ReadonlyMap<string, RoutedSubscription>;

  readonly breakers: ReadonlyMap<string, Breaker>;
  /** Subscriptions and certificates that ever raised an alert, and whether it is still raised. */
  readonly alerts: ReadonlyMap<string, KnownAlert>;
  /** Endpoints with a raised alert of a certificate, and on which side. */
  readonly #expiring: ReadonlySet<string>;

  constructor(
    project: ProjectRow,
    rows: {
      endpoints: ReadonlyMap<string, RoutedEndpoint>;
      subscriptions: ReadonlyMap<string, RoutedSubscription>;
      sources: ReadonlyMap<string, SourceRow>;
      breakers: ReadonlyMap<string, Breaker>;
      alerts: ReadonlyMap<string, KnownAlert>;
      schemas?: EventSchemas | undefined;
    },
    before?: ProjectRouting,
  ) {
    this.project = project;
    this.endpoints = rows.endpoints;
    this.subscriptions = rows.subscriptions;
    this.sources = rows.sources;
    this.schemas = rows.schemas;
    this.breakers = rows.breakers;
    this.alerts = rows.alerts;
    const expiring = [...rows.alerts].filter(([, { kind, isRaised }]) => isRaised && kind === 'certificate');
    this.#expiring = new Set(expiring.map(([subject]) => certificateSideOf(subject)));
    if (before?.endpoints === rows.endpoints) {
      this.#byUrl = before.#byUrl;
      this.#owners = before.#owners;
    }
    if (before?.subscriptions === rows.subscriptions) {
      this.#oldest = before.#oldest;
      this.#byEventType = before.#byEventType;
      return;
    }
    const oldestFirst = [...rows.subscriptions.values()].sort((a, b) => (a.row.id < b.row.id ? -1 : 1));
    this.#oldest = new Map(oldestFirst.toReversed().map((s) => [s.row.endpoint_id, s]));
    this.#byEventType = new EventTypeIndex(
      oldestFirst.flatMap((subscription) =>
        subscription.filters.map((filter) => [filter.record.event_type, { subscription, filter }] as const),
      ),
    );
  }

  get version(): number {
    return this.project.version;
  }

  /** It moves to another cell, or has moved: nothing of it is sent from here. */
  get isMoving(): boolean {
    return (this.project.cell_state ?? null) !== null;
  }

  /** Only the deliveries of a draining project wait. Of a closed one nothing may be read or changed. */
  get isClosed(): boolean {
    return this.isMoving && this.project.cell_state !== 'draining';
  }

  breaker(endpointId: string): Breaker {
    return this.breakers.get(endpointId) ?? CLOSED;
  }

  /** Endpoints whose consumers fetch their deliveries, active or not. */
  pullEndpoints(): Set<string> {
    const rows = [...this.endpoints.values()].map(({ row }) => row);
    return new Set(rows.filter(isFetched).map(({ id }) => id));
  }

  /** Whether an alert is raised of one of an endpoint's certificates. */
  hasExpiring(endpointId: string, side: CertificateSide): boolean {
    return this.#expiring.size > 0 && this.#expiring.has(certificateSubject(endpointId, side));
  }

  /** The queue key of a subscription's deliveries: itself if it has a rate limit or batches, else its endpoint. */
  queueKey(subscription: RoutedSubscription): QueueKey {
    const { row, limit } = subscription;
    return limit === null && this.batchOf(subscription) === null ? row.endpoint_id : row.id;
  }

  /** Null: its deliveries go one by one. */
  batchOf({ row }: RoutedSubscription): Batch | null {
    return batchOf(row.batch, this.endpoints.get(row.endpoint_id)?.row);
  }

  /**
   * The queue key of a stored delivery, by the current config. A subscription that has moved to another endpoint since
   * is ignored, because the rate limits of its new endpoint do not apply to the old one.
   */
  keyOf(endpointId: EndpointId, subscriptionId: SubscriptionId | null): QueueKey {
    const subscription = this.subscriptions.get(subscriptionId ?? '');
    return subscription?.row.endpoint_id === endpointId ? this.queueKey(subscription) : endpointId;
  }

  /** The endpoint of the deliveries of a queue key. */
  endpointOf(key: string): string {
    return this.subscriptions.get(key)?.row.endpoint_id ?? key;
  }

  /** The rate limits of the deliveries of a queue key. */
  limitsOf(endpointId: string, key: string): { key: string; limit: RateLimit }[] {
    const limits: { key: string; limit: RateLimit }[] = [];
    const limit = this.endpoints.get(endpointId)?.limit ?? null;
    if (limit !== null) limits.push({ key: endpointId, limit });
    const own = this.subscriptions.get(key)?.limit ?? null;
    if (own !== null) limits.push({ key, limit: own });
    return limits;
  }

  hasOwner(ownerId: string): boolean {
    this.#owners ??= new Set([...this.endpoints.values()].map(({ row }) => row.owner_id));
    return this.#owners.has(ownerId);
  }

  isDevice(endpointId: string): boolean {
    return this.endpoints.get(endpointId)?.row.delivery === 'device';
  }

  /** Whether events of the source may have been sent by an endpoint of ours: to an ingest URL, or to a broker. */
  isIncoming(sourceId: string | null): boolean {
    const type = sourceId === null ? undefined : this.sources.get(sourceId)?.type;
    return type === 'http' || type === 'pub_sub';
  }

  hasSubscription(endpointId: string): boolean {
    return this.#oldest.has(endpointId);
  }

  oldestSubscription(endpointId: string): RoutedSubscription | undefined {
    return this.#oldest.get(endpointId);
  }

  /**
   * The subscriptions that an event goes to, each once. For a broadcast one per endpoint, the oldest that
   * matches. The most specific record of a subscription for the type decides: if its conditions fail, no
   * other is tried. Filters run last, because only they can be expensive. `subject` counts their cost.
   */
  match(event: Matchable, subject: FilterSubject = eventSubject(event)): RoutedSubscription[] {
    const matching = this.#begin(event);
    while (!tryNext(matching, event, subject));
    return [...matching.matched.values()];
  }

  /** `match` with a turn of the event loop after each slice of work. Most events take one slice, and no promise. */
  matchInSlices(
    event: Matchable,
    subject: FilterSubject,
  ): RoutedSubscription[] | Promise<RoutedSubscription[]> {
    if (event.payload.length > LARGE_JSON && event.contentType === null && this.#readsBody(event.eventType))
      return this.#matchLarge(event, subject);
    const matching = this.#begin(event);
    return tryNext(matching, event, subject)
      ? [...matching.matched.values()]
      : tryRest(matching, event, subject);
  }

  async #matchLarge(event: Matchable, subject: FilterSubject): Promise<RoutedSubscription[]> {
    subject.give(await parseInSlices(event.payload.toString()));
    return tryRest(this.#begin(event), event, subject);
  }

  #readsBody(eventType: string): boolean {
    for (const { filter } of this.#byEventType.candidates(eventType))
      if (filter.compiled?.usesBody === true) return true;
    return false;
  }

  #begin({ target, eventType, payload }: Matchable): Matching {
    const direct =
      target.kind === 'subscription'
        ? this.#only(target.subscriptionId)
        : target.kind === 'url'
          ? this.#oldestAt(target.url)
          : undefined;
    return {
      wanted: this.targetTest(target),
      candidates: direct === undefined ? this.#byEventType.candidates(eventType) : [],
      tried: 0,
      isLarge: payload.length > LARGE_JSON,
      paused: undefined,
      matched: new Map(direct?.map((one) => [one.row.id, one])),
    };
  }

  #only(subscriptionId: string): RoutedSubscription[] {
    const subscription = this.subscriptions.get(subscriptionId);
    return subscription !== undefined && this.endpoints.has(subscription.row.endpoint_id)
      ? [subscription]
      : [];
  }

  #oldestAt(url: string): RoutedSubscription[] {
    this.#byUrl ??= new Map([...this.endpoints.values()].toReversed().map((one) => [one.row.url, one]));
    const endpoint = this.#byUrl.get(url);
    return endpoint === undefined ? [] : this.#only(this.oldestSubscription(endpoint.row.id)?.row.id ?? '');
  }

  /** Whether an event is for an endpoint, before its subscriptions decide. */
  targetTest(target: EventTarget): (endpointId: string) => boolean {
    switch (target.kind) {
      case 'broadcast':
      case 'subscribers':
        return (id) => this.endpoints.has(id);
      // A device listens to the project: it gets events for any endpoint or owner.
      case 'endpoints':
        return (id) => (target.endpointIds.includes(id) && this.endpoints.has(id)) || this.isDevice(id);
      case 'owner':
        return (id) => this.endpoints.get(id)?.row.owner_id === target.ownerId || this.isDevice(id);
      // No subscription decides.
      case 'subscription':
      case 'url':
        return () => false;
    }
  }
}

/** Tries the candidates for a slice of work. Whether none is left. */
function tryNext(matching: Matching, event: Matchable, subject: FilterSubject): boolean {
  const { candidates, matched, wanted } = matching;
  const { meter } = subject;
  const until = meter.used + STEPS_AT_ONCE;
  while (matching.tried < candidates.length && meter.used < until) {
    const before = candidates[matching.tried - 1]?.subscription;
    const { subscription, filter } = candidates[matching.tried++] as Candidate;
    // Candidates come subscription by subscription, the most specific record first. That one decides.
    if (subscription === before) continue;
    const { row } = subscription;
    const key = event.target.kind === 'broadcast' ? row.endpoint_id : row.id;
    if (matched.has(key) || !wanted(row.endpoint_id)) continue;
    if (subscriptionRefusal(subscription, event) !== null) continue;
    const isMatch = holds(matching, filter, subject);
    if (isMatch === undefined) {
      matching.tried--;
      return false;
    }
    if (isMatch) matched.set(key, subscription);
  }
  return matching.tried === candidates.length;
}

/** Undefined: the filter pauses on a large payload, and is tried again. */
function holds(matching: Matching, { compiled }: RoutedFilter, subject: FilterSubject): boolean | undefined {
  if (compiled === null) return true;
  if (!matching.isLarge) return compiled.matches(subject);
  matching.paused ??= compiled.matching(subject);
  const step = matching.paused.next();
  if (step.done !== true) return undefined;
  matching.paused = undefined;
  return step.value;
}

async function tryRest(
  matching: Matching,
  event: Matchable,
  subject: FilterSubject,
): Promise<RoutedSubscription[]> {
  while (!tryNext(matching, event, subject)) await nextTurn();
  return [...matching.matched.values()];
}

/** Why a subscription gets no such event, before its filters are tried. */
export function subscriptionRefusal(
  { row }: RoutedSubscription,
  event: { sourceId: string | null },
): 'inactive' | 'source' | null {
  if (row.status !== 'active') return 'inactive';
  return row.source_id !== '' && row.source_id !== event.sourceId ? 'source' : null;
}

/** The signer is created when first needed, so an endpoint whose secret cannot be opened affects no other. */
export function routeEndpoint(
  row: EndpointRow,
  config: ProjectConfig,
  keys?: ProjectRow['keys'],
): RoutedEndpoint {
  let signer: Signer | undefined;
  return {
    row,
    get signer() {
      signer ??= endpointSigner(row, config, keys?.reveal() ?? []);
      return signer;
    },
    limit: rateLimit(row.rate_limit, row.rate_limit_duration),
  };
}

function endpointSigner(row: EndpointRow, config: ProjectConfig, keys: readonly ProjectKey[]): Signer {
  const { secrets, signing_key } = row.secret.reveal();
  return compileSigner({
    schemes: config.signature.schemes,
    header: config.signature.header,
    versions: config.signature.versions,
    advanced: row.advanced_signatures || config.replay_attacks_prevention_enabled,
    secrets: secrets.map(({ value, expires_at }) => ({
      value,
      expiresAt: expires_at === null ? null : Date.parse(expires_at),
    })),
    ...(signing_key === null ? {} : { ed25519: { privateKey: createPrivateKey(signing_key.private_key) } }),
    projectKeys: keys.map(({ private_key, expires_at }) => ({
      privateKey: createPrivateKey(private_key),
      expiresAt: expires_at === null ? null : Date.parse(expires_at),
    })),
  });
}
