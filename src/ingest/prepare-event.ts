import { visibleHeaders } from '../domain/config/credential-headers.ts';
import { LANE, type LeasedDelivery, TEST_EVENT_TYPE } from '../domain/delivery.ts';
import { AppError } from '../domain/errors.ts';
import { type EventId, type IdFactory, idTime } from '../domain/ids.ts';
import type { Sealer } from '../platform/sealer.ts';
import { buildDelivery } from '../routing/build-delivery.ts';
import { eventSubject } from '../routing/event-subject.ts';
import { orderingIdOf } from '../routing/ordering.ts';
import type { EventTarget, ProjectRouting } from '../routing/project-routing.ts';
import type { RoutedSubscription } from '../routing/routed-subscription.ts';
import { MAX_HOPS, withHops } from '../signing/hops.ts';
import { storedHeaders } from '../store/database/stored-headers.ts';
import type { AcceptBatch, EventRow } from '../store/queue/accept-events.ts';
import type { NewDelivery } from '../store/queue/insert-deliveries.ts';
import { withTrace } from '../tracing/trace-context.ts';
import type { NewEvent } from './new-event.ts';

/** An event matched against one version of its project's config: the rows to store. */
export interface PreparedEvent {
  source: NewEvent;
  event: EventRow;
  deliveries: NewDelivery[];
  /** How many of them have a place in an ordering key. */
  ordered: number;
  /** Ids of the matched subscriptions, if they are too many to store their deliveries in this commit. */
  expansion: string[] | null;
}

const MAX_LISTED_ENDPOINTS = 1_000;
/** A fan-out over this many deliveries is stored as the event and expanded in chunks. */
export const MAX_DIRECT = 1_000;
/** The bound for all events of one call: later ones are expanded, so that no commit grows without bound. */
export const MAX_DIRECT_TOGETHER = 10_000;
const NONE: readonly RoutedSubscription[] = [];
const NOTHING_MATCHED = 'No active subscription matched this event.';
export const LOOPED = `This event came back to this service ${MAX_HOPS} times, so it is not sent on. The URL of an endpoint leads to an ingest URL.`;
const RAN_OUT = 'Filters that needed more work than allowed, and so did not match:';

interface PrepareContext {
  ids: IdFactory;
  nowMs: number;
  maxRetrySeconds: number;
  sealer: Sealer;
  eventId?: EventId | undefined;
  isReplay?: boolean;
  /** How many deliveries its commit may still have. */
  room?: number | undefined;
}

/** A promise: its filters cost so much that they run in slices, with turns of the event loop in between. */
export function prepareEvent(
  source: NewEvent,
  routing: ProjectRouting,
  context: PrepareContext,
): PreparedEvent | Promise<PreparedEvent> {
  const subject = eventSubject(source);
  const failure = isLooped(source) ? LOOPED : source.functionFailure;
  const matched = failure === null ? routing.matchInSlices(source, subject) : [];
  const how = { routing, subject, failure, ...context };
  return matched instanceof Promise
    ? matched.then((found) => preparedEvent(source, found, how))
    : preparedEvent(source, matched, how);
}

interface MatchedContext extends PrepareContext {
  routing: ProjectRouting;
  subject: ReturnType<typeof eventSubject>;
  /** Why it is not matched. */
  failure: string | null;
}

function preparedEvent(
  source: NewEvent,
  matched: RoutedSubscription[],
  context: MatchedContext,
): PreparedEvent {
  const { routing, subject, failure } = context;
  const isExpanded = matched.length > Math.min(MAX_DIRECT, context.room ?? MAX_DIRECT);
  const direct = inCommit(matched, isExpanded);
  const later = direct === matched ? NONE : matched.filter(({ row }) => row.ordering === null);
  const id = context.eventId ?? context.ids.next<EventId>();
  const visible = visibleHeaders(routing.project.config);
  const stored = (headers: NewEvent['headers']) =>
    storedHeaders(context.sealer, headers, { id, credentials: source.credentials, visible });
  const carried = carriedHeaders(context.sealer, source);
  const event: EventRow = {
    id,
    projectId: source.projectId,
    configVersion: routing.version,
    eventType: source.eventType,
    sourceId: source.sourceId,
    appId: source.appId,
    status: later.length > 0 ? 'Processing' : matched.length > 0 ? 'Success' : 'Failure',
    failureReason:
      matched.length > 0
        ? null
        : (failure ?? nothingMatched(source.target, routing, subject.meter.overspent)),
    sourceFunctionFailed: source.functionFailure !== null,
    idempotencyKey: source.idempotencyKey,
    endpointIds: [...new Set(matched.map((m) => m.row.endpoint_id))]
      .filter((endpointId) => !routing.isDevice(endpointId))
      .slice(0, MAX_LISTED_ENDPOINTS),
    headers: stored(source.headers),
    // An empty list is different from null, which means all of them.
    forwardedHeaders: carried === null ? null : (stored(carried) ?? '{}'),
    payload: source.payload,
    contentType: source.contentType,
    urlQueryParams: source.urlQueryParams,
    urlPath: source.urlPath,
    metadata: source.metadata,
    acknowledgedAtMs: source.acknowledgedAtMs ?? context.nowMs,
    target: storedTarget(source.target),
    orderingKey: source.orderingKey ?? null,
    deliverAtMs: source.times?.deliverAtMs ?? null,
    expiresAtMs: source.times?.expiresAtMs ?? null,
  };
  const { orderingKey = null, eventType } = source;
  let ordered = 0;
  const deliveries = direct.map((m) => {
    const delivery = buildDelivery(event, m, context);
    if (m.row.ordering !== null && eventType !== TEST_EVENT_TYPE) {
      delivery.orderingId = orderingIdOf(m.row, { orderingKey, subject });
      ordered += 1;
    }
    return delivery;
  });
  return {
    source,
    event,
    deliveries,
    ordered,
    expansion: later.length > 0 ? later.map((m) => m.row.id) : null,
  };
}

/** Null: to whatever subscription matches. */
export function storedTarget(target: EventTarget): string | null {
  return target.kind === 'broadcast' ? null : JSON.stringify(target);
}

export const readTarget = (stored: string | null): EventTarget =>
  stored === null ? { kind: 'broadcast' } : (JSON.parse(stored) as EventTarget);

/** The rows of a batch, as its statement takes them. */
export function acceptBatch(items: readonly PreparedEvent[], nodeId: string): AcceptBatch {
  return {
    events: items.map((item) => item.event),
    deliveries: items.flatMap((item) => item.deliveries),
    expansions: items.flatMap(({ event, expansion }) =>
      expansion === null
        ? []
        : [
            {
              eventId: event.id,
              projectId: event.projectId,
              subscriptionIds: expansion,
              deliverAtMs: event.deliverAtMs,
            },
          ],
    ),
    nodeId,
  };
}

/** The headers of deliveries, if they are not simply all headers. */
export function carriedHeaders(sealer: Sealer, event: NewEvent): NewEvent['forwardedHeaders'] {
  const { headers, forwardedHeaders, hops, trace } = event;
  const counted = hops === 0 ? forwardedHeaders : withHops(sealer, forwardedHeaders ?? headers, hops);
  return trace === null ? counted : withTrace(counted ?? headers, trace);
}

/** Whether it has come back so often that it is not sent on. */
export const isLooped = ({ hops }: NewEvent): boolean => hops >= MAX_HOPS;

function nothingMatched(target: EventTarget, routing: ProjectRouting, overspent: number): string {
  if (target.kind === 'url') return target.reason;
  if (target.kind === 'owner' && !routing.hasOwner(target.ownerId))
    return `No endpoint has the owner id ${target.ownerId}.`;
  return overspent === 0 ? NOTHING_MATCHED : `${NOTHING_MATCHED} ${RAN_OUT} ${overspent}.`;
}

/**
 * The matches whose deliveries are stored together with the event. Of a large fan-out these are only the ordered ones,
 * because the place in an ordering key is given when the event is stored.
 */
function inCommit(matched: RoutedSubscription[], isExpanded: boolean): RoutedSubscription[] {
  return isExpanded ? matched.filter(({ row }) => row.ordering !== null) : matched;
}

/**
 * Whether so many ordered deliveries are stored together. Then their commit has no events of other calls, and a node makes
 * one such commit at a time.
 */
export const isLarge = (ordered: number): boolean => ordered > MAX_DIRECT;

/** Undefined: a call, a message or a replay may make so many. */
export const tooManyOrdered = (what: string, count: number, limit: number): AppError | undefined =>
  count > limit ? new AppError('ordered_fanout_too_large', { what, count, limit }) : undefined;

/** The delivery for the dispatcher, right after the commit that stored it under the first fence. */
export function leasedDelivery(delivery: NewDelivery, event: EventRow): LeasedDelivery {
  return {
    kind: 'delivery',
    id: delivery.id,
    fence: 1,
    key: delivery.key,
    lane: LANE.first,
    projectId: delivery.projectId,
    eventId: delivery.eventId,
    endpointId: delivery.endpointId,
    target: delivery.endpointId,
    subscriptionId: delivery.subscriptionId,
    orderingId: delivery.orderingId,
    isPlaced: true,
    eventType: delivery.eventType,
    deliveryMode: delivery.deliveryMode,
    retry: delivery.retry,
    numTrials: 0,
    budgetFrom: 0,
    body: event.payload,
    hasOwnBody: false,
    isReplay: false,
    functionRequest: null,
    isStarted: false,
    pulled: null,
    isSecondRequest: false,
    probeFence: null,
    contentType: event.contentType,
    headers: event.forwardedHeaders ?? event.headers,
    urlQueryParams: event.urlQueryParams,
    idempotencyKey: event.idempotencyKey,
    sourceId: event.sourceId,
    acknowledgedAtMs: event.acknowledgedAtMs,
    acceptedAtMs: idTime(event.id),
    expiresAtMs: delivery.expiresAtMs,
    dueAt: null,
  };
}

export interface AcceptedEvent {
  event: EventRow;
  isDuplicate: boolean;
  /** For a duplicate: the first event with its idempotency key, unless that is no longer known. */
  duplicateOf: string | null;
  /** How it differs from the schema of its type, where that is no reason to refuse it. */
  warnings?: readonly string[];
}

/** `duplicateOf`: undefined if it is not a duplicate. */
export function acceptedEvent(event: EventRow, duplicateOf: string | null | undefined): AcceptedEvent {
  if (duplicateOf === undefined) return { event, isDuplicate: false, duplicateOf: null };
  const stored = {
    ...event,
    status: 'Success',
    failureReason: null,
    sourceFunctionFailed: false,
    endpointIds: [],
  };
  return { event: stored, isDuplicate: true, duplicateOf };
}
