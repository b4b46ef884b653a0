import type { Static } from 'typebox';
import { DEFAULT_REQUEST_ID_HEADER } from '../../domain/config/project-config.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import { isConnectionHeader, isHeaderName, isHeaderValue, OF_CONNECTION } from '../../domain/http-header.ts';
import type { SourceId } from '../../domain/ids.ts';
import { type EventTimes, eventTimes, type GivenTimes, retentionOf } from '../../ingest/event-times.ts';
import type { NewEvent } from '../../ingest/new-event.ts';
import { payloadTooLarge } from '../../ingest/request/payload-too-large.ts';
import { compactMember } from '../../platform/json/cut-json.ts';
import type { EventTarget } from '../../routing/project-routing.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { givenTrace } from '../../tracing/trace-context.ts';
import type { Call, EventPayload } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { parseTime } from '../http/fields.ts';
import type { BroadcastEvent } from './event-schema.ts';

type Input = Static<typeof BroadcastEvent> & { app_id?: string };

/** An event for storing, from the body of any call that creates one. */
export async function newEvent(
  context: ReadContext,
  call: Pick<Call<Input>, 'project' | 'body' | 'bodyText' | 'payload' | 'trace' | 'idempotencyKey'>,
  target: EventTarget,
): Promise<NewEvent> {
  const { project, body } = call;
  const { payload, contentType } = call.payload ?? (await jsonOf(call.bodyText));
  if (payload.length > project.config.max_payload_read_size) {
    throw payloadTooLarge(project.config.max_payload_read_size);
  }
  const headers = customHeaders(body.custom_headers ?? {});
  return {
    projectId: project.id,
    target,
    eventType: body.event_type,
    payload,
    contentType,
    forwardedHeaders: null,
    credentials: [],
    hops: 0,
    functionFailure: null,
    headers,
    // A trace given for the event overrides that of the request.
    trace: givenTrace(headers) ?? call.trace,
    idempotencyKey: idempotencyKey(project, body, call.idempotencyKey),
    sourceId: body.source_id ? await eventSource(context, project, body.source_id) : null,
    appId: body.app_id || null,
    acknowledgedAtMs:
      body.acknowledged_at === undefined ? null : parseTime('acknowledged_at', body.acknowledged_at),
    urlQueryParams: null,
    urlPath: null,
    metadata: body.metadata || null,
    orderingKey: body.ordering_key ?? null,
    times: timesOf(context, call),
  };
}

const jsonOf = async (bodyText: string): Promise<EventPayload> => ({
  payload: await compactMember(bodyText, 'data'),
  contentType: null,
});

/** Throws before anything is made for the event. */
export function timesOf(
  context: ReadContext,
  { project, body, payload }: Pick<Call<GivenTimes>, 'project' | 'body' | 'payload'>,
): EventTimes {
  const retentionMs = retentionOf(project.config, context.retentionMs);
  const expiryName = payload === undefined ? 'expires_at' : 'expirytime';
  return eventTimes(body, { nowMs: context.now(), retentionMs, expiryName });
}

/** A project with its own header for the key relies on it, so every event must have a key. */
function idempotencyKey(project: ProjectRow, body: Input, ofHeader: string | undefined): string | null {
  const isCustom = project.config.request_id_header !== DEFAULT_REQUEST_ID_HEADER;
  const key = body.idempotency_key || ofHeader || null;
  if (ofHeader !== undefined && key !== ofHeader)
    throw invalid('idempotency_key', 'must be the same as the header Idempotency-Key');
  if (isCustom && key === null)
    throw invalid('idempotency_key', 'is required if the project has its own request_id_header');
  return key;
}

function customHeaders(given: Record<string, string>): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(given)) {
    const field = `custom_headers.${name}`;
    if (!isHeaderName(name)) throw invalid(field, 'is not a legal header name');
    if (isConnectionHeader(name)) throw invalid(field, OF_CONNECTION);
    if (!isHeaderValue(value)) throw invalid(field, 'contains characters that a header value cannot have');
    headers[name] = [value];
  }
  return headers;
}

/** The source of an event. Events by API may only name sources of type rest_api. */
async function eventSource(context: ReadContext, project: ProjectRow, sourceId: string): Promise<SourceId> {
  const { sources } = await context.cache.get(project.id);
  const source = sources.get(sourceId);
  if (source === undefined)
    throw new AppError('not_in_project', { field: 'source_id', resource: 'source', id: sourceId });
  if (source.type !== 'rest_api') throw invalid('source_id', 'must be a source of type rest_api');
  if (source.is_disabled) throw invalid('source_id', 'is a disabled source');
  return source.id;
}
