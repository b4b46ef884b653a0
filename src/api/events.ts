import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { type EndpointScope, inScope } from '../domain/endpoint-scope.ts';
import { AppError } from '../domain/errors.ts';
import { parsePageRequest, queryValue, queryValues } from '../domain/pagination.ts';
import { compactJson, cutTopLevel } from '../domain/raw-json.ts';
import type { NewEvent } from '../ingest/new-event.ts';
import type { EventTarget } from '../routing/project-routing.ts';
import { getEvent, listEvents } from '../store/events.ts';
import type { ProjectRow } from '../store/projects.ts';
import type { ApiContext } from './context.ts';
import { ensureSubscription } from './ensure-subscription.ts';
import { acceptedEvent, BroadcastEvent, CreateEvent, Event, toEvent } from './event-schema.ts';
import { dateRange, found, invalid, mapPage, PageOf, pageQuery, parseTime, Repeated } from './fields.ts';
import { registerOperation } from './operation.ts';

const path = '/api/v1/projects/:projectID/events';
const tag = 'Events';

export function registerEvents(app: FastifyInstance, context: ApiContext): void {
  const { db, acceptor } = context;
  const accept = async (event: NewEvent): Promise<Static<typeof Event>> => {
    const accepted = await acceptor.accept(event);
    return acceptedEvent(accepted.event, accepted.isDuplicate);
  };
  registerOperation(app, {
    method: 'POST',
    path: `${path}/broadcast`,
    id: 'broadcastEvent',
    tag,
    summary: 'Sends an event to every endpoint whose subscription matches its type.',
    body: BroadcastEvent,
    status: 201,
    message: 'Event broadcast',
    data: Event,
    handle: ({ project, body, bodyText }) =>
      accept(newEvent(project, body, { bodyText, target: { kind: 'broadcast' } })),
  });
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createEvent',
    tag,
    summary: 'Sends an event to one endpoint.',
    body: CreateEvent,
    status: 201,
    message: 'Event created',
    data: Event,
    portal: 'write',
    handle: async ({ project, body, bodyText, scope }) => {
      const endpointIds = await targetEndpoints(context, project, { ...body, scope });
      return accept(newEvent(project, body, { bodyText, target: { kind: 'endpoints', endpointIds } }));
    },
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listEvents',
    tag,
    summary: 'Lists events.',
    query: Type.Object({
      ...pageQuery,
      startDate: Type.Optional(Type.String()),
      endDate: Type.Optional(Type.String()),
      endpointId: Repeated('Only events for these endpoints.'),
      sourceId: Repeated('Only events of these sources.'),
      idempotencyKey: Type.Optional(Type.String()),
    }),
    status: 200,
    message: 'Events fetched',
    data: PageOf(Event),
    portal: 'read',
    handle: async ({ project, query, scope }) =>
      mapPage(
        await listEvents(db, project.id, {
          page: parsePageRequest(query),
          scope,
          ...dateRange(query),
          endpointIds: queryValues(query, 'endpointId'),
          sourceIds: queryValues(query, 'sourceId'),
          idempotencyKey: queryValue(query, 'idempotencyKey'),
        }),
        toEvent,
      ),
  });
  registerOperation(app, {
    method: 'GET',
    path: `${path}/:eventID`,
    id: 'getEvent',
    tag,
    summary: 'Fetches an event.',
    status: 200,
    message: 'Event fetched',
    data: Event,
    portal: 'read',
    handle: async ({ project, params, scope }) => {
      const id = params['eventID'] ?? '';
      return toEvent(found(await getEvent(db, project.id, id, scope), 'event', id));
    },
  });
}

/** An endpoint given by id; an app_id means every endpoint that carries it. */
async function targetEndpoints(
  context: ApiContext,
  project: ProjectRow,
  body: Static<typeof CreateEvent> & { scope: EndpointScope | undefined },
): Promise<string[]> {
  const { endpoints } = await context.cache.get(project.id);
  if (body.endpoint_id) {
    if (!endpoints.has(body.endpoint_id) || !inScope(body.scope, body.endpoint_id)) {
      throw new AppError('not_in_project', {
        field: 'endpoint_id',
        resource: 'endpoint',
        id: body.endpoint_id,
      });
    }
    await ensureSubscription(context, project.id, body.endpoint_id);
    return [body.endpoint_id];
  }
  if (!body.app_id) throw invalid('endpoint_id', 'is required');
  const ids = [...endpoints.values()]
    .filter(({ row }) => row.app_id === body.app_id || row.id === body.app_id)
    .map(({ row }) => row.id)
    .filter((id) => inScope(body.scope, id));
  if (ids.length === 0)
    throw new AppError('not_in_project', { field: 'app_id', resource: 'endpoint of app', id: body.app_id });
  for (const id of ids) await ensureSubscription(context, project.id, id);
  return ids;
}

const ILLEGAL_HEADERS =
  /^(host|content-length|connection|transfer-encoding|keep-alive|upgrade|te|trailer|proxy-authorization|proxy-connection)$/i;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

function newEvent(
  project: ProjectRow,
  body: Static<typeof BroadcastEvent> & { app_id?: string },
  context: { bodyText: string; target: EventTarget },
): NewEvent {
  const payload = Buffer.from(compactJson(cutTopLevel(context.bodyText, 'data') ?? 'null'));
  if (payload.length > project.config.max_payload_read_size) {
    throw new AppError('body_too_large', { limit: project.config.max_payload_read_size });
  }
  return {
    projectId: project.id,
    target: context.target,
    eventType: body.event_type,
    payload,
    contentType: null,
    forwardedHeaders: null,
    failure: null,
    headers: customHeaders(body.custom_headers ?? {}),
    idempotencyKey: body.idempotency_key || null,
    sourceId: null,
    appId: body.app_id || null,
    acknowledgedAtMs:
      body.acknowledged_at === undefined ? null : parseTime('acknowledged_at', body.acknowledged_at),
    urlQueryParams: null,
    urlPath: null,
    metadata: body.metadata || null,
  };
}

function customHeaders(given: Record<string, string>): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(given)) {
    const field = `custom_headers.${name}`;
    if (!HEADER_NAME.test(name)) throw invalid(field, 'is not a legal header name');
    if (ILLEGAL_HEADERS.test(name)) throw invalid(field, 'is set by the connection and cannot be given');
    // oxlint-disable-next-line no-control-regex -- header values may hold none of these
    if (/[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      throw invalid(field, 'holds characters a header value cannot carry');
    headers[name] = [value];
  }
  return headers;
}
