import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { found } from '../../domain/errors.ts';
import { readTarget } from '../../ingest/prepare-event.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { oneOf, Type } from '../../platform/type.ts';
import { type ExplainedEvent, explainMatch, type MatchExplanation } from '../../routing/explain-match.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';
import { getEvent, type StoredEvent } from '../../store/history/events.ts';
import type { ApiContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { FilterExplanation, shownExplanation } from '../subscriptions/test-filter.ts';

const causes = ['duplicate', 'target', 'inactive', 'source', 'type', 'filter', 'paused'] as const;

/** Whether a subscription matches an event, and why not. */
export const Verdict = Type.Object({
  matched: Type.Boolean(),
  cause: Type.Union([oneOf(causes), Type.Null()]),
  reason: Type.String(),
  filter_id: Type.Union([Type.String(), Type.Null()]),
  clause: Type.Union([FilterExplanation, Type.Null()]),
});

const SubscriptionExplanation = Type.Object({
  subscription_id: Type.String(),
  name: Type.String(),
  endpoint_id: Type.String(),
  ordering_key: Type.Optional(
    Type.String({ description: 'The ordering key of its delivery. Absent: it would have no order.' }),
  ),
  ...Verdict.properties,
});

const EventExplanation = Type.Object({
  event_id: Type.String(),
  event_type: Type.String(),
  replay_deliveries: Type.Integer({ description: 'New deliveries that a replay would make now.' }),
  subscriptions: Type.Array(SubscriptionExplanation),
});

export function registerExplainEvent(app: FastifyInstance, context: ApiContext): void {
  const { db, cache, sealer, replayer } = context;
  operationsOf('Events').get(app, '/api/v1/projects/:projectID/events/:eventID/explain', {
    id: 'explainEvent',
    summary: 'Explain for each subscription why it matches an event or not, under the current config.',
    message: 'Event explained',
    data: EventExplanation,
    access: 'viewer',
    handle: async ({ project, params }) => {
      const id = params.eventID;
      const event = found(await getEvent(db, project.id, id), 'event', id);
      const routing = await cache.refresh(project.id);
      const explanations = explainMatch(routing, {
        ...explainedEvent(sealer, event),
        target: readTarget(event.target),
      });
      return {
        event_id: event.id,
        event_type: event.event_type,
        replay_deliveries: (await replayer.trial(event, { routing, only: undefined })).length,
        subscriptions: explanations.map(toExplanation),
      };
    },
  });
}

export function explainedEvent(sealer: Sealer, event: StoredEvent): ExplainedEvent {
  return {
    eventType: event.event_type,
    sourceId: event.source_id,
    payload: event.payload,
    contentType: event.content_type,
    headers: openHeaders(sealer, event.headers, event.id).headers,
    urlQueryParams: event.url_query_params,
    urlPath: event.url_path,
    isDuplicate: event.is_duplicate,
    orderingKey: event.ordering_key,
  };
}

function toExplanation(given: MatchExplanation): Static<typeof SubscriptionExplanation> {
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
