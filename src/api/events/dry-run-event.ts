import type { Static } from 'typebox';
import { type EndpointScope, inScope } from '../../domain/endpoint-scope.ts';
import { oneOf, Type } from '../../platform/type.ts';
import { explainMatch } from '../../routing/explain-match.ts';
import { eventOfKey } from '../../store/history/events.ts';
import type { SendContext } from '../http/context.ts';
import { SubscriptionExplanation, toExplanation } from '../subscriptions/match-explanation.ts';
import { TargetChange, type WantedTarget } from './event-targets.ts';
import { type newEvent } from './new-event.ts';

export const EventDryRun = Type.Object({
  event_type: Type.String(),
  status: oneOf(['Success', 'Failure'] as const, 'That of the event, if it were sent.'),
  failure_reason: Type.String(),
  duplicate_of: Type.String({ description: 'The event that has its idempotency key. It would not be sent.' }),
  deliveries: Type.Integer({ description: 'How many it would have.' }),
  endpoints: Type.Array(Type.String(), { description: 'Endpoints that would get it, at most 1,000.' }),
  changes: Type.Array(TargetChange, { description: 'Config that the call would make.' }),
  subscriptions: Type.Array(SubscriptionExplanation, {
    description: 'Every subscription as it is now: whether it would get the event, and why not.',
  }),
});

const NOTHING = { kind: 'subscription', subscriptionId: '' } as const;

/** The fate of an event that is checked like any other, and not stored. */
export async function dryRunOfEvent(
  { acceptor, db, now }: SendContext,
  given: Awaited<ReturnType<typeof newEvent>>,
  { target, scope }: { target: WantedTarget; scope: EndpointScope | undefined },
): Promise<{ data: Static<typeof EventDryRun>; warnings: string[] }> {
  const tried = await acceptor.trial({ ...given, target: target.known ?? NOTHING });
  const { event, prepared, routing, warnings } = tried;
  const { idempotencyKey: key, projectId } = event;
  const duplicateOf = key === null ? undefined : await eventOfKey(db, projectId, key);
  const isDuplicate = duplicateOf !== undefined;
  const isFailed = event.functionFailure !== null;
  const asked = { ...event, isDuplicate, orderingKey: event.orderingKey ?? null, nowMs: now() };
  const explained = explainMatch(routing, asked);
  const changes = isDuplicate ? [] : target.changes;
  const created = isFailed
    ? []
    : changes.filter((one) => one.resource === 'subscription' && one.action === 'create');
  const matched = isDuplicate ? 0 : prepared.deliveries.length + (prepared.expansion?.length ?? 0);
  const deliveries = matched + created.length;
  const ids = [...(isDuplicate ? [] : prepared.event.endpointIds), ...created.map((one) => one.endpoint_id)];
  const isSent = isDuplicate || deliveries > 0;
  const data: Static<typeof EventDryRun> = {
    event_type: event.eventType,
    status: isSent ? 'Success' : 'Failure',
    failure_reason: isSent ? '' : (prepared.event.failureReason ?? ''),
    duplicate_of: duplicateOf ?? '',
    deliveries,
    endpoints: [...new Set(ids.filter((id) => id !== ''))],
    changes: [...changes],
    subscriptions: explained
      .filter(({ subscription }) => inScope(scope, subscription.row.endpoint_id))
      .map(toExplanation),
  };
  return { data, warnings };
}
