import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type EndpointScope, inScope, seesDelivery, seesEventType } from '../../domain/endpoint-scope.ts';
import { AppError } from '../../domain/errors.ts';
import { idTime, isId } from '../../domain/ids.ts';
import { Type } from '../../platform/type.ts';
import { withoutFunctionMessage } from '../../routing/function-failure.ts';
import type { RecentDelivery, RecentEvent } from '../../store/history/recent-rows.ts';
import { hidesPayload, requireAccess } from '../http/access/access.ts';
import type { Authenticator } from '../http/access/auth.ts';
import { ANSWER_HEADERS } from '../http/answer/envelope.ts';
import type { ReadContext } from '../http/context.ts';
import { REFUSAL_ID } from '../http/error-handler.ts';
import { iso } from '../http/fields.ts';
import { type Recent, type Watcher, WINDOW_MS } from './project-watch.ts';
import { Watches } from './watches.ts';

/**
 * Server-sent events of a project. States of a connection:
 *   open   -> first the rows of the last 10 s, or since 10 s before `Last-Event-ID`; then what is new, each second;
 *   slow   -> over MAX_BUFFER bytes of earlier seconds still wait for the caller to read: the connection is cut. What
 *             one second adds is bounded by its rows;
 *   barred -> its key, token or link is no longer valid, or its project is gone: it ends with the reason;
 *   over   -> the caller has left, or this node stops.
 *
 * A row may come twice, with the same id: after a reconnect, and when the state of a delivery changed.
 */
const MAX_BUFFER = 1_048_576;
/** So many endpoints of an event are named. */
const MAX_ENDPOINTS = 20;
const COMMENT_EVERY_MS = 15_000;
/** A caller that was away for longer has to read the lists again. */
const RESUME_MS = 300_000;

const SUMMARY = 'Follow new events and deliveries as server-sent events.';

export function registerStream(
  app: FastifyInstance,
  context: ReadContext & { authenticator: Authenticator },
): void {
  const watches = new Watches({ db: context.db, now: context.now, log: context.log });
  const open = new Set<() => void>();
  app.addHook('preClose', async () => {
    for (const end of open) end();
    await watches.stop();
  });
  for (const [url, id, tag] of [
    ['/api/v1/projects/:projectID/stream', 'streamProject', 'Dashboard'],
    ['/portal-api/stream', 'streamProjectInPortal', 'Portal'],
  ] as const) {
    app.get(url, { schema: schemaOf(id, tag, url.includes(':')) }, async (request, reply) => {
      if (request.caller !== undefined) requireAccess(request.caller, 'viewer', request.project);
      const stream = new Stream({ ...context, request, response: reply.raw });
      const { watch, leave } = watches.enter(request.project?.id ?? '', stream);
      const end = () => stream.end();
      open.add(end);
      reply.raw.on('close', () => {
        leave();
        open.delete(end);
      });
      reply.hijack();
      stream.begin();
      await stream.resume((ms) => watch.since(ms));
    });
  }
}

function schemaOf(operationId: string, tag: string, hasProject: boolean): object {
  return {
    operationId,
    tags: [tag],
    summary: SUMMARY,
    'x-access': 'viewer',
    'x-portal-right': 'read',
    ...(hasProject && { params: Type.Object({ projectID: Type.String() }) }),
    response: {
      200: {
        description: 'Messages `event`, `event_delivery`, `more`, `reset` and `end`.',
        content: { 'text/event-stream': { schema: Type.String() } },
      },
      default: { $ref: `${REFUSAL_ID}#`, description: 'Refused, or failed.' },
    },
  };
}

interface StreamDeps {
  now(): number;
  authenticator: Authenticator;
  request: FastifyRequest;
  response: ServerResponse;
}

class Stream implements Watcher {
  readonly #deps: StreamDeps;
  /** The newest id sent. */
  #lastId = '';
  #sentAt = performance.now();
  #isChecking = false;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
  }

  begin(): void {
    const { request, response } = this.#deps;
    response.writeHead(200, {
      ...ANSWER_HEADERS,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': request.id,
    });
    this.#write(': posthorn\n\n');
  }

  /** Sends what the caller missed. Rows that the poller reports at the same time come twice. */
  async resume(since: (ms: number) => Promise<Recent>): Promise<void> {
    const { request, now } = this.#deps;
    const given = request.headers['last-event-id'];
    const last = typeof given === 'string' && isId(given) ? idTime(given) : now();
    // A read that fails is a gap like any other.
    const missed = now() - last > RESUME_MS ? null : await since(last - WINDOW_MS).catch(() => null);
    if (missed === null || (given !== undefined && missed.hasMore)) this.#message('reset', {});
    if (missed !== null) this.#send(missed);
  }

  seen(rows: Recent): void {
    void this.#check().then((isValid) => {
      if (isValid) this.#send(rows);
    });
  }

  end(reason?: string): void {
    if (reason !== undefined) this.#message('end', { code: reason });
    this.#deps.response.end();
  }

  /** Whether the caller may still see the project. The scope of a portal link may have changed. */
  async #check(): Promise<boolean> {
    if (this.#isChecking) return false;
    this.#isChecking = true;
    const { authenticator, request } = this.#deps;
    try {
      const caller = await authenticator.enter(request);
      requireAccess(caller, 'viewer', request.project);
      return true;
    } catch (error) {
      // A database that is away says nothing about the caller.
      if (error instanceof AppError && error.status < 500) this.end(error.code);
      return false;
    } finally {
      this.#isChecking = false;
    }
  }

  #send({ events, deliveries, hasMore }: Recent): void {
    const { request, response } = this.#deps;
    if (response.writableLength > MAX_BUFFER) {
      response.destroy();
      return;
    }
    const { scope, caller, project } = request;
    const isHidden = caller !== undefined && project !== undefined && hidesPayload(caller, project);
    const rows = [
      ...events
        .filter((row) => seesEvent(scope, row))
        .map((row) => this.#row('event', row.id, eventText(row, scope, isHidden))),
      ...deliveries
        .filter((row) => seesDelivery(scope, row))
        .map((row) => this.#row('event_delivery', row.id, textOf(row, toDelivery))),
    ];
    if (rows.length > 0) this.#write(rows.join(''));
    if (hasMore) this.#message('more', {});
    if (performance.now() - this.#sentAt > COMMENT_EVERY_MS) this.#write(': still here\n\n');
  }

  #row(name: string, id: string, data: string): string {
    if (id > this.#lastId) this.#lastId = id;
    return this.#text(name, data);
  }

  #message(name: string, data: object): void {
    this.#write(this.#text(name, JSON.stringify(data)));
  }

  #text(name: string, data: string): string {
    const id = this.#lastId === '' ? '' : `id: ${this.#lastId}\n`;
    return `event: ${name}\n${id}data: ${data}\n\n`;
  }

  #write(text: string): void {
    const { response } = this.#deps;
    if (response.writableEnded || response.destroyed) return;
    this.#sentAt = performance.now();
    response.write(text);
  }
}

function seesEvent(scope: EndpointScope | undefined, { event_type, endpoints }: RecentEvent): boolean {
  if (scope === undefined) return true;
  return seesEventType(scope, event_type) && endpoints.some((id) => scope.endpointIds.has(id));
}

/** The watchers of a project get the same rows, so the text of a row that all may see is made once. */
const texts = new WeakMap<object, string>();

function textOf<Row extends object>(row: Row, show: (row: Row) => object): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = JSON.stringify(show(row));
    texts.set(row, text);
  }
  return text;
}

function eventText(row: RecentEvent, scope: EndpointScope | undefined, isHidden: boolean): string {
  if (scope === undefined && !isHidden) return textOf(row, toEvent);
  const reason = row.failure_reason ?? '';
  const failure_reason = isHidden ? withoutFunctionMessage(reason) : reason;
  return JSON.stringify(toEvent({ ...row, failure_reason }, scope));
}

function toEvent(row: RecentEvent, scope?: EndpointScope): object {
  return {
    uid: row.id,
    event_type: row.event_type,
    source_id: scope === undefined ? (row.source_id ?? '') : '',
    status: row.status,
    failure_reason: row.failure_reason ?? '',
    is_duplicate_event: row.is_duplicate,
    endpoints: row.endpoints.filter((id) => inScope(scope, id)).slice(0, MAX_ENDPOINTS),
    created_at: iso(idTime(row.id)),
  };
}

function toDelivery(row: RecentDelivery): object {
  return {
    uid: row.id,
    event_id: row.event_id,
    endpoint_id: row.endpoint_id,
    subscription_id: row.subscription_id ?? '',
    event_type: row.event_type,
    status: row.status,
    num_trials: row.num_trials,
    last_outcome: row.last_outcome ?? '',
    latency_ms: row.latency_ms,
    created_at: iso(idTime(row.id)),
    updated_at: iso(row.updated_at),
  };
}
