import type { Static } from 'typebox';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import type { MatchExplanation } from '../../routing/explain-match.ts';
import { FilterExplanation, shownExplanation } from './test-filter.ts';

const causes = [
  'duplicate',
  'target',
  'inactive',
  'source',
  'type',
  'filter',
  'moving',
  'pending',
  'paused',
] as const;

/** Whether a subscription matches an event, and why not. */
export const Verdict = Type.Object({
  matched: Type.Boolean(),
  cause: nullable(oneOf(causes)),
  reason: Type.String(),
  filter_id: nullable(Type.String()),
  clause: nullable(FilterExplanation),
});

export const SubscriptionExplanation = Type.Object({
  subscription_id: Type.String(),
  name: Type.String(),
  endpoint_id: Type.String(),
  ordering_key: Type.Optional(
    Type.String({ description: 'The ordering key of its delivery. Absent: it would have no order.' }),
  ),
  ...Verdict.properties,
});

export function toExplanation(given: MatchExplanation): Static<typeof SubscriptionExplanation> {
  const { row } = given.subscription;
  return {
    subscription_id: row.id,
    name: row.name,
    endpoint_id: row.endpoint_id,
    ...(given.orderingKey !== null && { ordering_key: given.orderingKey }),
    ...toVerdict(given),
  };
}

export function toVerdict(given: MatchExplanation): Static<typeof Verdict> {
  return {
    matched: given.matched,
    cause: given.cause,
    reason: given.reason,
    filter_id: given.filterId,
    clause: given.clause === null ? null : shownExplanation(given.clause),
  };
}
