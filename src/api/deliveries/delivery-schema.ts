import type { Static } from 'typebox';
import { visibleHeaders } from '../../domain/config/credential-headers.ts';
import { addressOf } from '../../domain/config/destination.ts';
import { deliveryGates, deliveryStatuses } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { keyInId } from '../../routing/ordering.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { type Waiting, waitingFor } from '../../routing/waiting-for.ts';
import type { StoredAttempt } from '../../store/attempts/read-attempts.ts';
import type { DeviceRow } from '../../store/config/devices.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { shownHeaders } from '../../store/database/stored-headers.ts';
import type { StoredDelivery } from '../../store/history/event-deliveries.ts';
import { deviceOf, NullableDevice } from '../endpoints/device-schema.ts';
import { Endpoint } from '../endpoints/endpoint-schema.ts';
import { Event } from '../events/event-schema.ts';
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
import { shownOrNull } from '../http/show-rows.ts';
import { NullableSourceSummary, toSourceSummary } from '../sources/source-summary.ts';
import { WaitsBehind } from './waits-behind.ts';

export const RetryMetadata = Type.Object({
  data: AnyJson('The body sent to the endpoint.'),
  raw: Type.String({ description: 'The body as text.' }),
  strategy: oneOf(['linear', 'exponential']),
  next_send_time: nullable(Time, 'The earliest time of the next attempt; null if it is unknown.'),
  num_trials: Type.Integer({ description: 'Attempts so far.' }),
  interval_seconds: Type.Integer(),
  retry_limit: Type.Integer({ description: 'Maximum number of attempts.' }),
  max_retry_seconds: Type.Integer(),
});

export const EventDelivery = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  event_id: Type.String(),
  endpoint_id: Type.String(),
  device_id: Type.String({ description: 'The device that it goes to, instead of an endpoint.' }),
  subscription_id: Type.String(),
  event_type: Type.String(),
  status: oneOf(deliveryStatuses),
  description: Type.String({ description: 'Why it failed, was discarded or waits.' }),
  waiting_for: waitingForSchema(deliveryGates),
  last_outcome: Type.String({
    description:
      'The result of the last attempt as one word: `http_503` for a response, `timeout` and the like for an error. Empty before the first attempt.',
  }),
  delivery_mode: Type.String(),
  ordering_key: Type.Optional(
    Type.String({ description: 'The ordering key that it belongs to. Absent: it has no order.' }),
  ),
  target_url: Type.String({ description: 'The URL of the endpoint, or the address of its broker.' }),
  headers: HeaderValues,
  idempotency_key: Type.String(),
  url_query_params: Type.String(),
  latency: Type.String({
    description:
      'Time from acceptance, or the `deliver_at` of the event, to the successful response, such as 12.4ms.',
  }),
  latency_seconds: Type.Integer(),
  metadata: RetryMetadata,
  endpoint_metadata: nullable(Endpoint),
  event_metadata: Type.Object(
    { uid: Type.String(), event_type: Type.String(), created_at: Time },
    { description: 'The event in short form.' },
  ),
  source_metadata: NullableSourceSummary,
  device_metadata: NullableDevice,
  cli_metadata: nullable(Type.Object({ event_type: Type.String(), source_id: Type.String() })),
  acknowledged_at: NullableTime,
  cancelled_at: nullable(Time, 'When it was cancelled; null if it was not, or was sent again since.'),
  expires_at: nullable(
    Time,
    'If it is not delivered by then, it is discarded; null: never. A resend removes it.',
  ),
  ...times,
});

/** The response of a single read, with the whole event. */
export const WholeEventDelivery = Type.Object({
  ...EventDelivery.properties,
  waits_behind: WaitsBehind,
  event_metadata: Event,
});

export const HeaderText = Type.Record(Type.String(), Type.String());

export const DeliveryAttempt = Type.Object({
  uid: Type.String(),
  msg_id: Type.String({ description: 'The delivery of this attempt.' }),
  project_id: Type.String(),
  endpoint_id: Type.String(),
  api_version: Type.String(),
  url: Type.String(),
  method: Type.String(),
  ip_address: Type.String(),
  http_status: Type.String(),
  error: Type.String(),
  status: Type.Boolean(),
  is_stale: Type.Boolean({
    description: 'Made by a node that had lost its lease. It is recorded, but changed nothing.',
  }),
  request_http_header: HeaderText,
  response_http_header: HeaderText,
  response_data: Type.String(),
  timings: Type.Unsafe<Record<string, number>>({
    type: 'object',
    description: 'Milliseconds: dnsMs, connectMs, tlsMs, firstByteMs, totalMs.',
  }),
  requested_at: NullableTime,
  responded_at: NullableTime,
  ...times,
});

/** The attempt of a test. Those of deliveries have no word of their own: only that of the last one is stored. */
export const TestAttempt = Type.Object({
  ...DeliveryAttempt.properties,
  outcome: Type.String({ description: 'The result as one word, as `last_outcome` of a delivery has it.' }),
  cb_state: Type.String({
    description:
      'State of the circuit breaker before the test: closed, half-open or open. Through one that is not closed, a single request is sent, which is not stored and neither closes nor feeds the breaker.',
  }),
});

interface DeliveryLinks {
  endpoints: ReadonlyMap<string, EndpointRow>;
  devices: ReadonlyMap<string, DeviceRow>;
  showEndpoint(row: EndpointRow): Static<typeof Endpoint>;
  routing: ProjectRouting;
  nowMs: number;
}

export function toDelivery(row: StoredDelivery, links: DeliveryLinks): Static<typeof EventDelivery> {
  const endpoint = links.endpoints.get(row.endpoint_id);
  const isDevice = endpoint?.delivery === 'device';
  const waiting = waitingFor(row, links);
  return {
    uid: row.id,
    project_id: row.project_id,
    event_id: row.event_id,
    endpoint_id: isDevice ? '' : row.endpoint_id,
    device_id: isDevice ? row.endpoint_id : '',
    subscription_id: row.subscription_id ?? '',
    event_type: row.event_type,
    status: row.status,
    description: describe(row, waiting),
    waiting_for: waiting === null ? null : { gate: waiting.gate, until: isoOrNull(waiting.untilMs) },
    last_outcome: row.last_outcome ?? '',
    delivery_mode: row.delivery_mode,
    ...(row.ordering_id !== null && { ordering_key: keyInId(row.ordering_id) }),
    target_url: endpoint === undefined ? '' : addressOf(endpoint),
    headers: shownHeaders(row.headers, visibleHeaders(links.routing.project.config)),
    idempotency_key: row.idempotency_key ?? '',
    url_query_params: row.url_query_params ?? '',
    latency: row.latency_ms === null ? '' : formatLatency(row.latency_ms),
    latency_seconds: Math.floor((row.latency_ms ?? 0) / 1000),
    metadata: toRetryMetadata(row, waiting),
    endpoint_metadata:
      endpoint === undefined || isDevice ? null : shownOrNull(() => links.showEndpoint(endpoint)),
    event_metadata: { uid: row.event_id, event_type: row.event_type, created_at: iso(idTime(row.event_id)) },
    source_metadata: toSourceSummary(links.routing.sources, row.source_id),
    device_metadata: deviceOf(endpoint, links.devices.get(row.endpoint_id), links.nowMs),
    cli_metadata: isDevice ? { event_type: row.event_type, source_id: row.source_id ?? '' } : null,
    acknowledged_at: iso(row.acknowledged_at),
    cancelled_at: isoOrNull(row.cancelled_at),
    expires_at: isoOrNull(row.expires_at),
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: null,
  };
}

/** Why the last attempt failed, if it did, and what the delivery waits for now. */
function describe({ description }: StoredDelivery, waiting: Waiting | null): string {
  const stored = description ?? '';
  const text = waiting?.text ?? '';
  return stored === '' || text === '' ? stored + text : `${stored.replace(/\.$/, '')}. ${text}`;
}

/** The stored time is when the delivery became due. Behind a closed gate that is past, and the gate decides. */
function nextSendTime(row: StoredDelivery, waiting: Waiting | null): string | null {
  const isGated = waiting !== null && waiting.gate !== 'sending' && waiting.gate !== 'node';
  return isoOrNull(isGated ? waiting.untilMs : row.next_send_at);
}

function toRetryMetadata(row: StoredDelivery, waiting: Waiting | null): Static<typeof RetryMetadata> {
  const body = row.body ?? row.payload;
  return {
    data: payloadJson(body, row.content_type),
    raw: body.toString(),
    strategy: row.strategy,
    next_send_time: nextSendTime(row, waiting),
    num_trials: row.num_trials,
    interval_seconds: row.interval_seconds,
    retry_limit: row.retry_limit,
    max_retry_seconds: row.max_retry_seconds,
  };
}

function formatLatency(ms: number): string {
  return ms < 1000 ? `${Math.max(0, ms).toFixed(1)}ms` : `${(ms / 1000).toFixed(3)}s`;
}

export function toAttempt(row: StoredAttempt, apiVersion: string): Static<typeof DeliveryAttempt> {
  const createdAt = iso(idTime(row.id));
  return {
    uid: row.id,
    msg_id: row.deliveryId,
    project_id: row.projectId,
    endpoint_id: row.endpointId,
    api_version: apiVersion,
    url: row.url,
    method: /^(https?:|$)/.test(row.url) ? 'POST' : 'PUBLISH',
    ip_address: row.ipAddress ?? '',
    http_status: row.httpStatus ?? '',
    error: row.error ?? '',
    status: row.succeeded,
    is_stale: row.isStale,
    request_http_header: row.requestHeaders,
    response_http_header: joinValues(row.responseHeaders),
    response_data: row.responseBody?.toString() ?? '',
    timings: row.timings,
    requested_at: iso(row.requestedAtMs),
    responded_at: row.error === null ? iso(row.requestedAtMs + row.timings.totalMs) : null,
    created_at: createdAt,
    updated_at: createdAt,
    deleted_at: null,
  };
}

/** On attempts a header is one text. Several values of one name are joined with a space, as clients expect. */
export function joinValues(
  headers: Readonly<Record<string, readonly string[]>> | null,
): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, values]) => [name, values.join(' ')]));
}
