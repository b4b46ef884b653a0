import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { deliveryStatuses } from '../../domain/delivery.ts';
import { found } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { getMetaEvent, listMetaEvents, type MetaEventRow } from '../../store/history/meta-events.ts';
import { resendMetaEvent } from '../../store/queue/insert-meta-events.ts';
import type { SendContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { dateQuery, dateRange, iso, isoOrNull, payloadJson, times } from '../http/fields.ts';
import { HeaderText, joinValues, RetryMetadata } from './delivery-schema.ts';

export const MetaEvent = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  event_type: Type.String(),
  status: oneOf(deliveryStatuses),
  description: Type.String({ description: 'Why it failed or was discarded.' }),
  metadata: RetryMetadata,
  attempt: nullable(
    Type.Object({
      request_http_header: HeaderText,
      response_http_header: HeaderText,
      response_data: Type.String(),
      http_status: Type.String(),
      error: Type.String(),
    }),
  ),
  ...times,
});

/** The meta events of a project and their results. */
export function registerMetaEvents(app: FastifyInstance, context: SendContext): void {
  const { db } = context;
  const event = crud(app, db, {
    tag: 'Meta events',
    noun: 'meta event',
    path: '/api/v1/projects/:projectID/meta-events',
    param: 'metaEventID',
    data: MetaEvent,
    access: { read: 'viewer', change: 'developer' },
    get: ({ project }, id) => getMetaEvent(db, project.id, id),
    view: () => toMetaEvent,
  });
  event.pages({
    query: dateQuery,
    filter: ({ query }) => dateRange(query),
    read: (tx, projectId, list) => listMetaEvents(tx, projectId, list),
  });
  event.get();
  event.act('put', 'resend', {
    id: 'resendMetaEvent',
    summary: 'Send a meta event again, with a fresh retry budget.',
    acts: true,
    message: 'Meta event queued',
    make: async ({ by, params: { metaEventID: id } }) => {
      const row = await audited(context, by, async (tx) => {
        const result = found(await resendMetaEvent(tx, by.projectId, id), 'meta event', id);
        const after = { event_type: result.event_type, status: result.status };
        return { result, audit: [{ action: 'meta_event.resent', resourceId: id, before: null, after }] };
      });
      context.metaEventsStored(by.projectId);
      return row;
    },
  });
}

function toMetaEvent(row: MetaEventRow): Static<typeof MetaEvent> {
  return {
    uid: row.id,
    project_id: row.project_id,
    event_type: row.event_type,
    status: row.status,
    description: row.description ?? '',
    metadata: {
      data: payloadJson(row.payload, null),
      raw: row.payload.toString(),
      strategy: row.strategy as 'linear',
      next_send_time: isoOrNull(row.next_send_at),
      num_trials: row.num_trials,
      interval_seconds: row.interval_seconds,
      retry_limit: row.retry_limit,
      max_retry_seconds: row.max_retry_seconds,
    },
    attempt:
      row.request_headers === null
        ? null
        : {
            request_http_header: parseStored(row.request_headers) as Record<string, string>,
            response_http_header: joinValues(
              parseStored(row.response_headers ?? '{}') as Record<string, string[]>,
            ),
            response_data: row.response_body?.toString() ?? '',
            http_status: row.http_status ?? '',
            error: row.error ?? '',
          },
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: null,
  };
}
