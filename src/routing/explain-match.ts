import type { Mismatch } from '../matcher/explain.ts';
import type { FilterSubject } from '../matcher/filter-subject.ts';
import { resultOf } from '../matcher/work-meter.ts';
import { eventSubject } from './event-subject.ts';
import { standingGate } from './gate.ts';
import { keyInId, orderingIdOf, orderingKeyOf } from './ordering.ts';
import {
  type EventTarget,
  type Matchable,
  type ProjectRouting,
  subscriptionRefusal,
} from './project-routing.ts';
import { decidingFilter, type RoutedSubscription } from './routed-subscription.ts';

/** Whether a subscription matches an event, and the first reason why not, or why its delivery would wait. */
export interface MatchExplanation {
  subscription: RoutedSubscription;
  matched: boolean;
  cause:
    | 'duplicate'
    | 'target'
    | 'inactive'
    | 'source'
    | 'type'
    | 'filter'
    | 'moving'
    | 'pending'
    | 'paused'
    | null;
  reason: string;
  filterId: string | null;
  clause: Mismatch | null;
  /** The ordering key of its delivery. Null: it would have no order. */
  orderingKey: string | null;
}

/** So many event types are named in a reason. */
const MOST_TYPES = 5;

/** An event without its target. A preview asks what a subscription would take of events that are sent to it. */
export type ExplainedEvent = Omit<Matchable, 'target'> & {
  isDuplicate: boolean;
  orderingKey: string | null;
  /** When it would be sent. */
  nowMs: number;
};

/** Every subscription of the project, oldest first, with the tests of matching. */
export function explainMatch(
  routing: ProjectRouting,
  event: ExplainedEvent & { target: EventTarget },
): MatchExplanation[] {
  const subject = eventSubject(event);
  const takers = new Map(routing.match(event).map((one) => [one.row.endpoint_id, one]));
  return [...routing.subscriptions.values()]
    .sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
    .map((subscription) => {
      const outside = event.isDuplicate ? null : outsideTarget(routing, subscription, { event, takers });
      if (outside !== null) return refused(subscription, { cause: 'target', reason: outside });
      if (!event.isDuplicate && isDirect(event.target))
        return taken(routing, subscription, { ...event, subject });
      return explainSubscription(routing, subscription, { ...event, subject });
    });
}

/** A dynamic event goes to its one subscription past the filters. */
const isDirect = ({ kind }: EventTarget): boolean => kind === 'subscription' || kind === 'url';

/** Why the target of an event leaves a subscription out. Null: it does not. */
function outsideTarget(
  routing: ProjectRouting,
  subscription: RoutedSubscription,
  { event: { target }, takers }: { event: { target: EventTarget }; takers: Map<string, RoutedSubscription> },
): string | null {
  const { row } = subscription;
  const taker = takers.get(row.endpoint_id);
  const owner = routing.endpoints.get(row.endpoint_id)?.row.owner_id ?? '';
  switch (target.kind) {
    case 'subscribers':
      return null;
    case 'broadcast':
      return taker === undefined || taker.row.id >= row.id
        ? null
        : `A broadcast makes one delivery per endpoint. The older subscription ${taker.row.id} takes it.`;
    case 'endpoints':
      return routing.targetTest(target)(row.endpoint_id) ? null : sentOnlyTo(target.endpointIds);
    case 'owner':
      return routing.targetTest(target)(row.endpoint_id)
        ? null
        : `The event was sent to endpoints of owner ${target.ownerId}. This one ${owner === '' ? 'has no owner' : `belongs to ${owner}`}.`;
    case 'subscription':
      return taker === subscription
        ? null
        : `The event was sent to a URL, through subscription ${target.subscriptionId} only.`;
    case 'url':
      return taker === subscription
        ? null
        : `The event was sent to the URL ${target.url} only${takers.size === 0 ? ", which is no endpoint's" : ''}.`;
  }
}

const sentOnlyTo = (endpointIds: readonly string[]): string =>
  endpointIds.length === 1
    ? `The event was sent to endpoint ${endpointIds[0]} only.`
    : `The event was sent to ${endpointIds.length} other endpoints only.`;

/** One subscription, which need not be stored, with the tests of matching. */
export function explainSubscription(
  routing: ProjectRouting,
  subscription: RoutedSubscription,
  event: ExplainedEvent & { subject?: FilterSubject },
): MatchExplanation {
  const no = (cause: MatchExplanation['cause'], reason: string) => refused(subscription, { cause, reason });
  if (event.isDuplicate)
    return no('duplicate', 'The event repeats an idempotency key, so it is not delivered.');
  switch (subscriptionRefusal(subscription, event)) {
    case 'inactive':
      return no('inactive', 'The subscription is inactive.');
    case 'source':
      return no('source', `The subscription takes only events of source ${subscription.row.source_id}.`);
    case null:
  }
  const filter = decidingFilter(subscription, event.eventType);
  if (filter === undefined)
    return no('type', `Subscribes to ${typesOf(subscription)}; this is ${event.eventType}.`);
  const filterId = filter.record.uid;
  const subject = event.subject ?? eventSubject(event);
  const verdict = (filter.compiled && resultOf(filter.compiled.explaining(subject))) ?? { matched: true };
  if (!verdict.matched) return { ...no('filter', verdict.reason), filterId, clause: verdict };
  return { ...taken(routing, subscription, { ...event, subject }), filterId };
}

/** "order.*, invoice.sent", for a sentence. */
function typesOf({ filters }: RoutedSubscription): string {
  const types = [...new Set(filters.map(({ record }) => record.event_type))];
  if (types.length === 0) return 'nothing, since no filter is enabled';
  const others = types.length > MOST_TYPES ? ` and ${types.length - MOST_TYPES} more` : '';
  return `${types.slice(0, MOST_TYPES).join(', ')}${others}`;
}

const refused = (
  subscription: RoutedSubscription,
  why: Pick<MatchExplanation, 'cause' | 'reason'>,
): MatchExplanation => ({
  subscription,
  matched: false,
  ...why,
  filterId: null,
  clause: null,
  orderingKey: null,
});

function taken(
  routing: ProjectRouting,
  subscription: RoutedSubscription,
  event: ExplainedEvent & { subject: FilterSubject },
): MatchExplanation {
  const { row } = subscription;
  const { cause, reason } = whetherItGoes(routing, subscription, event.nowMs);
  const orderingId = orderingIdOf(row, event);
  const isKeyless = row.ordering !== null && orderingKeyOf(row.ordering, event) === null;
  const keyless = isKeyless
    ? ` It has no key at ${row.ordering?.key}, so it goes in the order of the empty key.`
    : '';
  return {
    ...refused(subscription, { cause, reason: `${reason}${keyless}` }),
    matched: true,
    orderingKey: orderingId === null ? null : keyInId(orderingId),
  };
}

function whetherItGoes(
  routing: ProjectRouting,
  { row }: RoutedSubscription,
  nowMs: number,
): Pick<MatchExplanation, 'cause' | 'reason'> {
  if (routing.isMoving)
    return {
      cause: 'moving',
      reason: 'Matched. Deliveries wait while the project is moved to another cell.',
    };
  const gate = standingGate(routing.endpoints.get(row.endpoint_id), nowMs);
  if (gate === null) return { cause: null, reason: 'Matched.' };
  if (gate.kind === 'pending')
    return {
      cause: 'pending',
      reason: 'Matched. Deliveries wait until the endpoint has answered the challenge.',
    };
  return gate.kind === 'paused'
    ? { cause: 'paused', reason: 'Matched. Deliveries wait while the endpoint is paused.' }
    : { cause: 'inactive', reason: 'Matched. Deliveries to an inactive endpoint are discarded.' };
}
