import type { Static } from 'typebox';
import { visibleHeaders } from '../../domain/config/credential-headers.ts';
import { statusAt } from '../../domain/config/endpoint.ts';
import { idTime } from '../../domain/ids.ts';
import { MAX_SECONDS } from '../../ingest/event-times.ts';
import { nullable, RequiredText, Text, Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { shownHeaders } from '../../store/database/stored-headers.ts';
import type { StoredEvent } from '../../store/history/events.ts';
import type { EventRow } from '../../store/queue/accept-events.ts';
import { Endpoint } from '../endpoints/endpoint-schema.ts';
import {
  AnyJson,
  HeaderValues,
  iso,
  isoOrNull,
  NullableTime,
  payloadJson,
  Time,
  times,
  waitingForSchema,
} from '../http/fields.ts';
import { NullableSourceSummary, toSourceSummary } from '../sources/source-summary.ts';
import { ownersOf } from './sent-to.ts';

export const EndpointSummary = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  name: Type.String(),
  url: Type.String(),
  owner_id: Type.String(),
  status: Type.String(),
  support_email: Type.String(),
});

function toEndpointSummary(row: EndpointRow, nowMs: number): Static<typeof EndpointSummary> {
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    url: row.url,
    owner_id: row.owner_id,
    status: statusAt(row, nowMs),
    support_email: row.support_email,
  };
}

export const Event = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  event_type: Type.String(),
  source_id: Type.String(),
  app_id: Type.String(),
  status: Type.String(),
  failure_reason: Type.Optional(Type.String()),
  waiting_for: waitingForSchema(['expansion']),
  endpoints: Type.Array(Type.String()),
  owner_ids: Type.Array(Type.String(), {
    description:
      'The customers whom it went to: the owners of `endpoints`, and the owner that a fan-out named. Empty for portal links.',
  }),
  endpoint_metadata: Type.Optional(
    Type.Array(EndpointSummary, { description: 'The endpoints in short form. Absent in lists.' }),
  ),
  source_metadata: NullableSourceSummary,
  headers: HeaderValues,
  data: AnyJson('The payload.'),
  raw: Type.String({ description: 'The payload as text.' }),
  metadata: Type.String(),
  ordering_key: Type.Optional(Type.String({ description: 'As given with the event.' })),
  idempotency_key: Type.String(),
  is_duplicate_event: Type.Boolean(),
  duplicate_of: Type.String({
    description: 'For a duplicate: the id of the first event with its idempotency key, while it is known.',
  }),
  url_query_params: Type.String(),
  url_path: Type.String(),
  deliver_at: nullable(Time, 'It is not delivered before; null: at once.'),
  expires_at: nullable(
    Time,
    'Deliveries that were not made by then are discarded. Subscriptions may set an earlier time.',
  ),
  acknowledged_at: NullableTime,
  ...times,
});

/** The response of a single read, with its endpoints in full. */
export const WholeEvent = Type.Object({
  ...Event.properties,
  endpoint_metadata: Type.Array(Endpoint),
});

/** When an event is delivered. */
const deliverAtFields = {
  deliver_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'It is not delivered before. At most the retention ahead. Not together with `delay_seconds`.',
    }),
  ),
  delay_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_SECONDS, description: 'Time of delivery as seconds from now.' }),
  ),
};
export const DeliverAt = Type.Object(deliverAtFields);

const eventFields = {
  event_type: RequiredText(256),
  data: Type.Unknown({ description: 'The payload: any JSON.' }),
  custom_headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 8192 }), {
      description: 'Headers sent with the event.',
    }),
  ),
  idempotency_key: Type.Optional(
    Text(512, 'A second event with the same key is stored as a duplicate and not sent.'),
  ),
  acknowledged_at: Type.Optional(Type.String({ format: 'date-time' })),
  source_id: Type.Optional(Text(64, 'The source of the event, of type rest_api.')),
  metadata: Type.Optional(Text(65_536, 'Free text stored with the event.')),
  ordering_key: Type.Optional(
    Text(512, 'The key of its deliveries to ordered subscriptions, instead of what `ordering.key` finds.'),
  ),
  ...deliverAtFields,
  expires_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Deliveries that were not made by then are discarded. Not together with `ttl_seconds`.',
    }),
  ),
  ttl_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SECONDS,
      description: 'Expiry as seconds after its acceptance or `deliver_at`.',
    }),
  ),
};

export const BroadcastEvent = Type.Object(eventFields);
export const CreateEvent = Type.Object({
  endpoint_id: Type.Optional(Text(64)),
  app_id: Type.Optional(Text(64, 'Deprecated: use endpoint_id.')),
  ...eventFields,
});

export const FanoutEvent = Type.Object({ owner_id: RequiredText(256), ...eventFields });
export const DynamicEvent = Type.Object({
  url: RequiredText(2048, 'URL of the endpoint. It is created if there is none.'),
  secret: Type.Optional(Text(1024, 'The signing secret of a created endpoint.')),
  event_types: Type.Optional(
    Type.Array(RequiredText(256), {
      maxItems: 100,
      description: 'The event types of the endpoint’s subscription.',
    }),
  ),
  ...eventFields,
});

/** A just accepted event, without reading it back. */
export function acceptedEvent(
  { event, isDuplicate, duplicateOf }: { event: EventRow; isDuplicate: boolean; duplicateOf: string | null },
  config: Pick<ProjectRouting, 'endpoints' | 'sources' | 'project'>,
): Static<typeof Event> {
  const stored = {
    id: event.id,
    project_id: event.projectId,
    event_type: event.eventType,
    source_id: event.sourceId,
    app_id: event.appId,
    status: event.status,
    failure_reason: event.failureReason,
    source_function_failed: event.sourceFunctionFailed,
    is_duplicate: isDuplicate,
    duplicate_of: duplicateOf,
    idempotency_key: event.idempotencyKey,
    endpoints: [...event.endpointIds],
    headers: event.headers,
    payload: event.payload,
    content_type: event.contentType,
    url_query_params: event.urlQueryParams,
    url_path: event.urlPath,
    metadata: event.metadata,
    ordering_key: event.orderingKey,
    acknowledged_at: event.acknowledgedAtMs,
    forwarded_headers: event.forwardedHeaders,
    target: event.target,
    deliver_at: event.deliverAtMs,
    expires_at: event.expiresAtMs,
  };
  const endpoints = event.endpointIds.flatMap((id) => config.endpoints.get(id)?.row ?? []);
  const shown = toEvent(stored, config);
  // It was accepted just now.
  shown.endpoint_metadata = endpoints.map((row) => toEndpointSummary(row, idTime(event.id)));
  return shown;
}

/** A large fan-out: its deliveries are created in chunks after the response. */
const EXPANDING = { gate: 'expansion', until: null } as const;

export function toEvent(
  row: StoredEvent,
  routing: Pick<ProjectRouting, 'endpoints' | 'sources' | 'project'>,
): Static<typeof Event> {
  const { sources, project } = routing;
  const createdAt = iso(idTime(row.id));
  const data = payloadJson(row.payload, row.content_type);
  return {
    uid: row.id,
    project_id: row.project_id,
    event_type: row.event_type,
    source_id: row.source_id ?? '',
    app_id: row.app_id ?? '',
    status: row.status,
    ...(row.failure_reason !== null && { failure_reason: row.failure_reason }),
    waiting_for: row.status === 'Processing' ? EXPANDING : null,
    endpoints: row.endpoints,
    owner_ids: ownersOf(row, routing),
    source_metadata: toSourceSummary(sources, row.source_id),
    headers: shownHeaders(row.headers, visibleHeaders(project.config)),
    data,
    // The text of JSON is the payload itself.
    raw: row.content_type === null ? data.text : row.payload.toString(),
    metadata: row.metadata ?? '',
    ...(row.ordering_key !== null && { ordering_key: row.ordering_key }),
    idempotency_key: row.idempotency_key ?? '',
    is_duplicate_event: row.is_duplicate,
    duplicate_of: row.duplicate_of ?? '',
    url_query_params: row.url_query_params ?? '',
    url_path: row.url_path ?? '',
    deliver_at: isoOrNull(row.deliver_at),
    expires_at: isoOrNull(row.expires_at),
    acknowledged_at: iso(row.acknowledged_at),
    created_at: createdAt,
    updated_at: createdAt,
    deleted_at: null,
  };
}
