import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ConfigChanges } from '../control/config-changes.ts';
import { visibleHeaders } from '../domain/config/credential-headers.ts';
import { isResponseType } from '../domain/config/source.ts';
import { AppError, badQuery, wrongState } from '../domain/errors.ts';
import { isMediaType } from '../domain/http-header.ts';
import { compactInSlices } from '../platform/json/cut-json.ts';
import type { JsonBounds } from '../platform/json/json-shape.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import { HOPS_HEADER, readHops } from '../signing/hops.ts';
import type { EventAcceptor } from './accept-event.ts';
import { eventGridCode } from './cloudevents/event-grid.ts';
import { consentHeaders } from './cloudevents/options-handshake.ts';
import { eventTimes } from './event-times.ts';
import { LoopAlarms } from './loop-alarms.ts';
import type { NewEvent } from './new-event.ts';
import { isLooped, LOOPED } from './prepare-event.ts';
import { type Body, decodeBody, type Payload, readBody } from './request/body.ts';
import type { IngestRequest } from './request/ingest-request.ts';
import { payloadTooLarge } from './request/payload-too-large.ts';
import { requestTrace } from './request/request-trace.ts';
import { cloudEventsOf, cloudParts, hasCloudEvents } from './source/cloud-source.ts';
import { compileSource } from './source/compiled-source.ts';
import type { FoundSource, SourceFinder } from './source/source-finder.ts';
import { twitterCrcResponse } from './verify/twitter.ts';

/**
 * Incoming webhooks. Steps: find the source (404), check that it accepts requests (403, 400), read the bytes
 * within the project's limit (413), verify them as received (400), decode them, extract event type and
 * idempotency key, and store the event. The sender gets its response after the commit.
 */
export interface IngestDeps {
  finder: SourceFinder;
  acceptor: EventAcceptor;
  sealer: Sealer;
  jsonBounds: JsonBounds;
  changes: ConfigChanges;
  log: Logger;
  publicUrl(): string;
  now(): number;
}

declare module 'fastify' {
  interface FastifyRequest {
    source?: FoundSource;
    /** The limit of the body in bytes, where it is not that of the route. */
    bodyLimit?: number;
  }
}

const HOPS_NAME = HOPS_HEADER.toLowerCase();
const NAVIGATIONS: ReadonlySet<unknown> = new Set([
  'document',
  'embed',
  'fencedframe',
  'frame',
  'iframe',
  'object',
]);

export async function registerIngest(app: FastifyInstance, deps: IngestDeps): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRequest', async (request) => {
      if (isNavigation(request)) throw new AppError('navigation_refused');
      request.source = await openSource(deps, (request.params as { maskID: string }).maskID);
      request.bodyLimit = limitOf(request);
      const { headers } = request.raw;
      // An invalid content type counts as absent. The sender is not refused for it.
      if (!isMediaType(headers['content-type'] ?? '')) delete headers['content-type'];
    });
    const options = { schema: { hide: true } };
    const alarmed = { ...deps, alarms: new LoopAlarms(deps) };
    scope.post('/ingest/:maskID', options, (request, reply) => ingest(alarmed, request, reply));
    scope.get('/ingest/:maskID', options, (request) => answerChallenge(deps, request));
    scope.options('/ingest/:maskID', options, (request, reply) => giveConsent(request, reply));
  });
}

/** A page of another origin could send people here, and show them what a tenant wrote under our address. */
const isNavigation = ({ headers }: FastifyRequest): boolean => NAVIGATIONS.has(headers['sec-fetch-dest']);

async function openSource(deps: IngestDeps, maskId: string): Promise<FoundSource> {
  const source = await deps.finder.find(maskId);
  if (source.row.is_disabled) throw new AppError('source_disabled');
  if (source.row.type !== 'http')
    throw wrongState('This source does not take webhooks: its type is not http.');
  return source;
}

const limitOf = (request: FastifyRequest) =>
  (request.source as FoundSource).routing.project.config.max_payload_read_size;

async function ingest(
  deps: IngestDeps & { alarms: LoopAlarms },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { row } = request.source as FoundSource;
  const compiled = compileSource(row);
  const incoming = ingestRequest(deps, request);
  const verified = compiled.verify(incoming, deps.now());
  if (!verified.ok) throw new AppError(compiled.refusal, { reason: verified.reason });
  if (hasCloudEvents(incoming.headers, row, compiled.isSigned))
    return ingestCloudEvents(deps, request, { reply, incoming });
  const limit = limitOf(request);
  const payload = decoded(await readBody(incoming.body, incoming.headers, limit, deps.jsonBounds), limit);
  const asked = payload.kind === 'json' ? compiled.handshake(payload.value) : null;
  if (asked !== null) return reply.code(asked.status).type(asked.type).serializer(String).send(asked.body);
  const code =
    row.cloudevents && payload.kind === 'json' ? eventGridCode(incoming.headers, payload.value) : null;
  if (code !== null) return reply.send({ validationResponse: code });
  const bytes = payload.kind === 'json' ? await compactInSlices(payload.text) : payload.bytes;
  const event = {
    ...newEvent(request.source as FoundSource, incoming, { payload, bytes }),
    trace: requestTrace(request),
    hops: readHops(deps.sealer, request.headers[HOPS_NAME]),
  };
  const { isDuplicate, warnings = [] } = await deps.acceptor.accept(event);
  if (isLooped(event)) await deps.alarms.raise(row, LOOPED);
  return answer(reply, row.custom_response, { isDuplicate, bytes: event.payload.length, warnings });
}

/** The events of a batch are stored as a whole or not at all: senders of CloudEvents look at the status only. */
async function ingestCloudEvents(
  deps: IngestDeps & { alarms: LoopAlarms },
  request: FastifyRequest,
  { reply, incoming }: { reply: FastifyReply; incoming: IngestRequest },
): Promise<FastifyReply> {
  const found = request.source as FoundSource;
  const limit = limitOf(request);
  const body = decoded(await decodeBody(incoming.body, incoming.headers, limit, deps.jsonBounds), limit);
  const hops = readHops(deps.sealer, request.headers[HOPS_NAME]);
  const { isSigned } = compileSource(found.row);
  const { jsonBounds } = deps;
  const given = await cloudEventsOf(incoming, body.bytes, { isSigned, jsonBounds });
  const events = given.map((one): NewEvent => {
    const own = newEvent(found, incoming, { payload: one.payload, bytes: one.cloud.payload });
    const { trace, expires_at, ...parts } = cloudParts(found.row, own, one);
    const limits = { nowMs: deps.now(), retentionMs: Number.POSITIVE_INFINITY };
    const times = eventTimes({ expires_at }, { ...limits, expiryName: 'expirytime' });
    return { ...parts, times, trace: trace ?? requestTrace(request), hops };
  });
  const results = await deps.acceptor.acceptGroup(events, { isAllOrNothing: true });
  const refusal = results.find((result) => result instanceof AppError);
  if (refusal !== undefined) throw refusal;
  if (events.some(isLooped)) await deps.alarms.raise(found.row, LOOPED);
  const isDuplicate = results.length > 0 && results.every((one) => 'isDuplicate' in one && one.isDuplicate);
  const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0);
  const warnings = results.flatMap((one) => ('isDuplicate' in one ? (one.warnings ?? []) : []));
  return answer(reply, found.row.custom_response, { isDuplicate, bytes, warnings });
}

function answer(
  reply: FastifyReply,
  custom: { body: string; content_type: string },
  { isDuplicate, bytes, warnings }: { isDuplicate: boolean; bytes: number; warnings: readonly string[] },
): FastifyReply {
  // A custom response is sent as it is, so the header tells of them.
  if (warnings.length > 0) reply.header('X-Posthorn-Warnings', warnings.length);
  if (custom.body !== '') {
    const isShown = custom.content_type !== '' && isResponseType(custom.content_type);
    return reply
      .type(isShown ? custom.content_type : 'text/plain; charset=utf-8')
      .serializer(String)
      .send(custom.body);
  }
  const message = isDuplicate ? 'Duplicate event received; it is not sent again' : 'Event received';
  return reply.send({ status: true, message, data: bytes, ...(warnings.length > 0 && { warnings }) });
}

function ingestRequest(deps: IngestDeps, request: FastifyRequest): IngestRequest {
  const [path = '', rawQuery = ''] = request.url.split(/\?(.*)/s, 2);
  return {
    method: request.method,
    path,
    rawQuery,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    url: `${deps.publicUrl()}${request.url}`,
  };
}

function decoded<T extends { kind: string }>(body: T | Exclude<Body, Payload>, limit: number): T {
  if (body.kind === 'too_large') throw payloadTooLarge(limit);
  if (isBadlyEncoded(body)) throw new AppError('bad_encoding', { detail: body.message });
  return body as T;
}

const isBadlyEncoded = (body: { kind: string }): body is Extract<Body, { kind: 'bad_encoding' }> =>
  body.kind === 'bad_encoding';

function newEvent(
  { row, routing }: FoundSource,
  request: IngestRequest,
  { payload, bytes }: { payload: Payload; bytes: Buffer },
): Omit<NewEvent, 'trace' | 'hops'> {
  const { headers, idempotencyKey, eventType } = compileSource(row);
  const type = eventType(request, payload);
  if (!type.ok) throw wrongState(`Cannot determine the event type: ${type.message}`);
  return {
    projectId: row.project_id,
    target: { kind: 'subscribers' },
    eventType: type.eventType,
    payload: bytes,
    contentType: payload.kind === 'json' ? null : payload.contentType,
    headers: {
      ...headers.stored(request.headers, visibleHeaders(routing.project.config)),
      'X-Convoy-Source-Id': [row.mask_id],
    },
    forwardedHeaders: headers.forwarded(request.headers),
    credentials: headers.credentials,
    functionFailure: null,
    idempotencyKey: idempotencyKey(request, payload),
    sourceId: row.id,
    appId: null,
    acknowledgedAtMs: null,
    urlQueryParams: request.rawQuery || null,
    urlPath: request.path,
    metadata: null,
  };
}

/** Senders of CloudEvents ask for consent before they send. */
function giveConsent(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { row, routing } = request.source as FoundSource;
  if (!row.cloudevents) throw wrongState('This source does not answer handshakes.');
  const { count, duration } = routing.project.config.ratelimit;
  const limits = [
    { count: row.rate_limit, seconds: row.rate_limit_duration },
    { count, seconds: duration },
  ];
  return reply.headers(consentHeaders(request.headers, limits)).send({ status: true, message: 'Allowed' });
}

/** Twitter requests proof of the secret before it sends, and again every hour. Intercom only looks (HEAD). */
async function answerChallenge(
  deps: IngestDeps,
  request: FastifyRequest,
): Promise<{ response_token: string } | ''> {
  const source = request.source as FoundSource;
  if (request.method === 'HEAD' && source.row.provider === 'intercom') return '';
  const { verifier } = source.row.secret.reveal();
  if (source.row.provider !== 'twitter' || verifier.type !== 'hmac') {
    throw wrongState('This source does not answer challenges.');
  }
  const token = (request.query as { crc_token?: unknown }).crc_token;
  const response = typeof token === 'string' ? twitterCrcResponse(verifier.hmac.secret, token) : null;
  if (response === null) throw badQuery('crc_token', 'a challenge token is needed');
  await deps.finder.recordChallenge(source, new Date(deps.now()).toISOString());
  return response;
}
