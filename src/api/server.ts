import type { IncomingMessage } from 'node:http';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { AppError } from '../domain/errors.ts';
import type { IdFactory } from '../domain/ids.ts';
import type { JsonBounds } from '../platform/json/json-shape.ts';
import { stringifyWithRaw } from '../platform/json/raw-json.ts';
import type { Logger } from '../platform/logger.ts';
import type { Authenticator } from './http/access/auth.ts';
import { ANSWER_HEADERS } from './http/answer/envelope.ts';
import { handleError, REFUSAL } from './http/error-handler.ts';
import { API_VERSION } from './http/versions/version-change.ts';
import type { DescribedRoute } from './openapi.ts';
import type { BodyRoom } from './server/body-room.ts';
import { closeIdlePatiently, excusePauses } from './server/excuse-pauses.ts';
import { readBodies } from './server/read-bodies.ts';
import { refuseAmbiguous } from './server/refuse-ambiguous.ts';
import { UnreadableRequests } from './server/unreadable-requests.ts';
import { createValidatorCompiler } from './server/validator-compiler.ts';

/** The HTTP server: everything common to all routes. The resources register the routes themselves. */
interface ServerOptions {
  ids: IdFactory;
  log: Logger;
  maxBodyBytes: number;
  bodies: BodyRoom;
  jsonBounds: JsonBounds;
  trustedProxies: string[];
  /** Whether requests are taken. Absent: while this server listens. */
  isOpen?(): boolean;
}

/** The time limit of a caller to send a request. */
const REQUEST_MS = 60_000;
/** Only listening devices are upgraded. */
const isListening = ({ url = '', headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket' && /\/listen\/?(\?|$)/.test(url);
const answerHeaders = Object.entries(ANSWER_HEADERS);
const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const unreadable = new UnreadableRequests(options);
  const app = Fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    // A logger per request costs 5 µs, and few requests log a line. Those lines name the request.
    childLoggerFactory: (log) => log,
    bodyLimit: options.maxBodyBytes,
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    keepAliveTimeout: 75_000,
    // Any other upgrade, such as that to HTTP/2, is answered as a plain request.
    // Node would refuse a request without Host with no body and no id.
    http: { shouldUpgradeCallback: isListening, requireHostHeader: false },
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : options.ids.next();
    },
    // These requests have no route, and so no hooks.
    frameworkErrors: (error, request, reply) => handleError(error, request, stamp(request, reply)),
    clientErrorHandler: unreadable.answer,
  });
  const { isOpen = () => app.server.listening } = options;
  unreadable.watch(app.server);
  closeIdlePatiently(app.server);
  excusePauses(app.server, REQUEST_MS);
  app.decorate('jsonBounds', options.jsonBounds);
  readBodies(app, options.bodies);
  app.setValidatorCompiler(createValidatorCompiler());
  app.setSerializerCompiler(() => stringifyWithRaw);
  app.setReplySerializer(stringifyWithRaw);
  app.setErrorHandler(handleError);
  app.addSchema(REFUSAL);
  // Synchronous hooks are in callback form. An async one costs every request a turn of the microtask queue.
  app.addHook('onSend', (request, reply, payload, done) => {
    stamp(request, reply);
    // Otherwise a caller that keeps its connection keeps a stopping node waiting for half its grace.
    if (!isOpen()) reply.header('connection', 'close');
    done(null, payload);
  });
  const { ids } = options;
  // While the clock of this node is in doubt, nothing gets an id.
  app.addHook('onRequest', ({ method }, _reply, done) => {
    if (method === 'GET' || ids.isReady()) done();
    else void goOn(ids.ready(), done);
  });
  describeRoutes(app);
  refuseAmbiguous(app);
  answerUnknownRoutes(app);
  return app;
}

/** The headers of every answer. A route may have set its own policy. */
function stamp({ id }: FastifyRequest, reply: FastifyReply): FastifyReply {
  for (const [name, value] of answerHeaders) if (!reply.hasHeader(name)) reply.header(name, value);
  return reply.header('x-request-id', id).header('x-convoy-version', API_VERSION);
}

/** Routes below this need a key or a session. The project of the path, if any, must be the caller's. */
export async function authenticated(
  app: FastifyInstance,
  authenticator: Authenticator,
  register: (app: FastifyInstance) => void,
): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      const caller = await authenticator.enter(request);
      authenticator.admit(caller);
      if (caller.kind === 'person') reply.header('cache-control', 'no-store');
    });
    // The body is here now. Access that ended while it was on its way does not count.
    scope.addHook('preValidation', (request, _reply, done) => {
      if (authenticator.isFresh(request)) done();
      else void goOn(authenticator.enter(request), done);
    });
    register(scope);
  });
}

/** After something that a synchronous hook had to wait for. */
async function goOn(work: Promise<unknown>, done: (error?: Error) => void): Promise<void> {
  try {
    await work;
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

/** 405 if the path exists under another method, else 404. Both are our own errors. */
function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: { method: string; pattern: RegExp; rank: string }[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const pattern = new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}/?$`);
    for (const name of [method].flat()) routes.push({ method: name, pattern, rank: rankOf(url) });
  });
  const refusal = ({ method, url }: FastifyRequest, reply: FastifyReply): AppError => {
    const path = url.replace(/\?.*$/, '');
    const matching = routes.filter((route) => route.pattern.test(path));
    if (matching.length === 0) return new AppError('route_not_found', { method, path });
    const best = matching.reduce((found, route) => (route.rank < found.rank ? route : found)).rank;
    const methods = matching.filter(({ rank }) => rank === best).map((route) => route.method);
    const allowed = [...new Set(methods)].join(', ');
    reply.header('allow', allowed);
    return new AppError('method_not_allowed', { method, path, allowed });
  };
  // Before the body is parsed, because the framework has its own rules for the bodies of some methods, such
  // as QUERY.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) done(refusal(request, reply));
    else done();
  });
  app.setNotFoundHandler((request, reply) => {
    throw refusal(request, reply);
  });
}

/** A path with a fixed segment sorts before one with a parameter in its place. */
const rankOf = (url: string): string => url.replaceAll(/:\w+/g, '\uFFFE').replaceAll('*', '\uFFFF');

/**
 * Gives a server that has no routes yet its OpenAPI document. Most nodes are never asked for it, so it is made, and its
 * library loaded, when it is first asked for.
 */
function describeRoutes(app: FastifyInstance): void {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema = {}, config = {} }) => {
    if (method !== 'HEAD') routes.push({ method, url, schema, config });
  });
  let made: Promise<object> | undefined;
  app.decorate('openApi', () => (made ??= makeDocument(routes)));
}

async function makeDocument(routes: readonly DescribedRoute[]): Promise<object> {
  const openApi = await import('./openapi.ts');
  return openApi.makeDocument(routes);
}

declare module 'fastify' {
  interface FastifyInstance {
    openApi(): Promise<object>;
  }
}
