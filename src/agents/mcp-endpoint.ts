import { isIP } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseOtherOrigin } from '../api/http/access/session-cookie.ts';
import { jsonBytes } from '../api/http/body/read-body.ts';
import type { ApiContext, ReadContext } from '../api/http/context.ts';
import { AppError } from '../domain/errors.ts';
import { eventMethods } from './events/mcp-events.ts';
import {
  errorMessage,
  invalidParams,
  parseMessage,
  RPC,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  resultMessage,
} from './protocol/json-rpc.ts';
import { checkRevision, complete, discoverResult, initializeResult, isModern } from './protocol/revision.ts';
import { callTool, listTools } from './tools/call-tool.ts';
import { type AgentCall, agentCall, Refused } from './tools/project-api.ts';

/**
 * The Model Context Protocol at `/mcp`: Streamable HTTP, each request answered as one JSON object. Nothing is kept between
 * requests, so any node answers any of them. The caller is that of the API: a key or portal token as bearer.
 */
const PATH = '/mcp';

/** A method of the protocol. */
type Method = (params: Record<string, unknown>, call: AgentCall) => object | Promise<object>;

function registerMcp(
  app: FastifyInstance,
  context: ReadContext,
  more: Readonly<Record<string, Method>>,
): void {
  const methods: Readonly<Record<string, Method>> = {
    initialize: initializeResult,
    'server/discover': discoverResult,
    ping: () => ({}),
    'tools/list': listTools,
    'tools/call': (params, call) => callTool(params, call.api),
    ...more,
  };
  app.post(PATH, { schema: { hide: true } }, async (request, reply) => {
    refuseOtherOrigins(request, context.publicUrl());
    const body = jsonBytes(request);
    return answer(request, reply, body, (message) => respond(methods, message, agentCall(app, request)));
  });
}

/**
 * A page of another origin gets no answer, as the protocol asks. Its name may lead to this node by now. So only the public
 * URL, addresses and localhost count as ours: no name server gives those.
 */
function refuseOtherOrigins(request: FastifyRequest, publicUrl: string): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  refuseOtherOrigin(request, publicUrl);
  if (origin !== new URL(publicUrl).origin && !isUnnamed(origin)) throw new AppError('cross_site');
}

function isUnnamed(origin: string): boolean {
  const hostname = URL.parse(origin)?.hostname.replace(/^\[|\]$/g, '');
  return hostname !== undefined && (hostname === 'localhost' || isIP(hostname) !== 0);
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Buffer,
  handle: (message: RpcRequest) => Promise<object>,
): Promise<unknown> {
  let id: RpcMessage['id'] = null;
  reply.type('application/json').header('cache-control', 'no-store').serializer(JSON.stringify);
  try {
    const message = await parseMessage(body);
    id = message.id;
    checkRevision(message, request.headers);
    if (id === null) return reply.code(202).serializer(String).send('');
    return resultMessage(id, await handle({ ...message, id }));
  } catch (error) {
    const refusal = refusalOf(error);
    return reply.code(refusal.httpStatus).send(errorMessage(id, refusal));
  }
}

/** Refusals of the API within a method are for the caller. Anything else is a fault of ours. */
function refusalOf(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const isRefusal = error instanceof AppError || error instanceof Refused;
  if (isRefusal && error.status < 500) return invalidParams(error.message);
  throw error;
}

async function respond(
  methods: Readonly<Record<string, Method>>,
  message: RpcRequest,
  call: AgentCall,
): Promise<object> {
  const method = Object.hasOwn(methods, message.method) ? methods[message.method] : undefined;
  if (method === undefined) {
    const httpStatus = isModern(message) ? 404 : 200;
    throw new RpcError(RPC.method, `There is no method ${message.method}.`, { httpStatus });
  }
  const result = await method(message.params, call);
  return isModern(message) ? complete(result, message.method) : result;
}

interface Settings {
  mcp: 'on' | 'off';
  /** Live subscriptions of an owner. */
  mcpSubscriptions: number;
}

type Register = (app: FastifyInstance, context: ApiContext) => void;

/** The routes of this room, if the instance wants them. */
export function agentsOf(config: Settings): Register[] {
  if (config.mcp === 'off') return [];
  return [(app, context) => registerMcp(app, context, eventMethods(context, config.mcpSubscriptions))];
}
