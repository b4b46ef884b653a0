import type { FastifyInstance } from 'fastify';
import { found } from '../../domain/errors.ts';
import { readTarget } from '../../ingest/prepare-event.ts';
import { Type } from '../../platform/type.ts';
import { type ExplainedEvent, explainMatch } from '../../routing/explain-match.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';
import { getEvent, type StoredEvent } from '../../store/history/events.ts';
import { sentTo, sentToQuery } from '../events/sent-to.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { SubscriptionExplanation, toExplanation } from '../subscriptions/match-explanation.ts';

const EventExplanation = Type.Object({
  event_id: Type.String(),
  event_type: Type.String(),
  replay_deliveries: Type.Integer({ description: 'New deliveries that a replay would make now.' }),
  replay_endpoints: Type.Integer({ description: 'How many endpoints they are for.' }),
  subscriptions: Type.Array(SubscriptionExplanation),
});

export function registerExplainEvent(app: FastifyInstance, context: SendContext): void {
  const { db, cache, replayer } = context;
  operationsOf('Events').get(app, '/api/v1/projects/:projectID/events/:eventID/explain', {
    id: 'explainEvent',
    summary: 'Explain for each subscription why it matches an event or not, under the current config.',
    query: Type.Object(sentToQuery),
    message: 'Event explained',
    data: EventExplanation,
    access: 'viewer',
    handle: async ({ project, params, query }) => {
      const id = params.eventID;
      const event = found(await getEvent(db, project.id, id), 'event', id);
      const routing = await cache.refresh(project.id);
      const only = await sentTo(context, project, { query, within: undefined });
      const replayed = await replayer.trial(event, { routing, only });
      const explanations = explainMatch(routing, {
        ...explainedEvent(context, event),
        target: readTarget(event.target),
      });
      return {
        event_id: event.id,
        event_type: event.event_type,
        replay_deliveries: replayed.length,
        replay_endpoints: new Set(replayed).size,
        subscriptions: explanations.map(toExplanation),
      };
    },
  });
}

export function explainedEvent(
  { sealer, now }: Pick<ReadContext, 'sealer' | 'now'>,
  event: StoredEvent,
): ExplainedEvent {
  return {
    nowMs: now(),
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
