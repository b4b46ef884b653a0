import type { Mismatch } from '../matcher/explain.ts';
import type { FilterSubject } from '../matcher/filter-subject.ts';
import { eventSubject } from './event-subject.ts';
import { type Matchable, type ProjectRouting, subscriptionRefusal } from './project-routing.ts';
import { decidingFilter, type RoutedSubscription } from './routed-subscription.ts';

/** Whether a subscription matches an event, and the first reason why not, or why its delivery would wait. */
export interface MatchExplanation {
  subscription: RoutedSubscription;
  matched: boolean;
  cause: 'duplicate' | 'inactive' | 'source' | 'type' | 'filter' | 'paused' | null;
  reason: string;
  filterId: string | null;
  clause: Mismatch | null;
}

/** An event without its target: a subscription may match here although the event was not addressed to it. */
export type ExplainedEvent = Omit<Matchable, 'target'> & { isDuplicate: boolean };

/** Every subscription of the project, oldest first, with the tests of matching. */
export function explainMatch(routing: ProjectRouting, event: ExplainedEvent): MatchExplanation[] {
  const subject = eventSubject(event);
  return [...routing.subscriptions.values()]
    .sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
    .map((subscription) => explainSubscription(routing, subscription, { ...event, subject }));
}

/** One subscription, which need not be stored, with the tests of matching. */
export function explainSubscription(
  routing: ProjectRouting,
  subscription: RoutedSubscription,
  event: ExplainedEvent & { subject?: FilterSubject },
): MatchExplanation {
  const no = (cause: MatchExplanation['cause'], reason: string, filterId: string | null = null) => ({
    subscription,
    matched: false,
    cause,
    reason,
    filterId,
    clause: null,
  });
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
    return no('type', `No enabled filter of the subscription is for the type ${event.eventType}.`);
  const filterId = filter.record.uid;
  const verdict = filter.compiled?.explain(event.subject ?? eventSubject(event)) ?? { matched: true };
  if (!verdict.matched) return { ...no('filter', verdict.reason, filterId), clause: verdict };
  return { subscription, matched: true, ...endpointState(routing, subscription), filterId, clause: null };
}

function endpointState(
  routing: ProjectRouting,
  { row }: RoutedSubscription,
): Pick<MatchExplanation, 'cause' | 'reason'> {
  switch (routing.endpoints.get(row.endpoint_id)?.row.status) {
    case 'paused':
      return { cause: 'paused', reason: 'Matched. Deliveries wait while the endpoint is paused.' };
    case 'inactive':
    case undefined:
      return { cause: 'inactive', reason: 'Matched. Deliveries to an inactive endpoint are discarded.' };
    case 'active':
      return { cause: null, reason: 'Matched.' };
  }
}
