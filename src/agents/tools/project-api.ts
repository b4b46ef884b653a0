import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Caller, via } from '../../api/http/access/caller.ts';
import { AppError } from '../../domain/errors.ts';
import { asId, isId, type ProjectId } from '../../domain/ids.ts';
import { queryValue } from '../../domain/pagination.ts';

/** The JSON of an answer. Its fields are picked by name, never passed on whole. */
export type Json = ReturnType<typeof JSON.parse>;

/** A refusal of the API, in its own words and with its code. */
export class Refused extends Error {
  override name = 'Refused';
  readonly status: number;

  constructor(status: number, { message, code }: { message: string; code: string }) {
    super(`${message} (${code})`);
    this.status = status;
  }
}

/** Values are arguments of tools, which are checked before. Undefined ones are left out. */
type Query = Readonly<Record<string, unknown>>;

/** The operations of a project, called with a credential. */
export interface ProjectApi {
  get(path: string, query?: Query): Promise<Json>;
  /** Resolves with the whole envelope, because some calls answer with a job next to `data`. */
  send(method: 'POST' | 'PUT', path: string, wanted?: { query?: Query; body?: object }): Promise<Json>;
}

/**
 * Calls the operations of this server in this process, with the headers of the caller's own request. Authentication,
 * roles, scopes of portal links, limits and the audit log are those of any other call.
 */
class OwnApi implements ProjectApi {
  readonly #app: FastifyInstance;
  readonly #request: FastifyRequest;
  readonly #path: string;
  readonly #via: string;

  constructor(app: FastifyInstance, request: FastifyRequest, of: { projectId: string; via: string }) {
    this.#app = app;
    this.#request = request;
    this.#path = `/api/v1/projects/${encodeURIComponent(of.projectId)}`;
    this.#via = of.via;
  }

  async get(path: string, query: Query = {}): Promise<Json> {
    return (await this.#call('GET', path, { query })).data;
  }

  send(method: 'POST' | 'PUT', path: string, wanted: { query?: Query; body?: object } = {}): Promise<Json> {
    return this.#call(method, path, wanted);
  }

  async #call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    { query = {}, body }: { query?: Query; body?: object },
  ): Promise<Json> {
    const { authorization, 'x-forwarded-for': forwarded } = this.#request.headers;
    const call = {
      method,
      url: `${this.#path}${path}${queryText(query)}`,
      remoteAddress: this.#request.socket.remoteAddress ?? '127.0.0.1',
      headers: {
        authorization,
        ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
        'x-request-id': this.#request.id,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    };
    const answer = await via.run(this.#via, async () => this.#app.inject(call));
    const json = answer.json();
    if (answer.statusCode >= 400) throw new Refused(answer.statusCode, json);
    return json;
  }
}

function queryText(query: Query): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) pairs.append(name, value as string);
  return pairs.size === 0 ? '' : `?${pairs.toString()}`;
}

/** A request of a caller who is known, in its project. */
export interface AgentCall {
  request: FastifyRequest;
  caller: Exclude<Caller, { kind: 'person' }>;
  projectId: ProjectId;
  /** The customer it subscribes for: that of its portal link, or the one that the address names. Empty: none. */
  ownerId: string;
  /** Calls the API as this caller. `via`: the name in the audit log. */
  api(via: string): OwnApi;
}

const MAX_OWNER = 256;

/** The project of a key or portal link is its own. The instance key names one in the address. */
export function agentCall(app: FastifyInstance, request: FastifyRequest): AgentCall {
  const { caller } = request;
  // A session is a cookie, which a browser adds by itself.
  if (caller === undefined || caller.kind === 'person') throw new AppError('unauthenticated');
  const query = request.query as Record<string, string>;
  const own = caller.kind === 'instance' ? undefined : caller.projectId;
  const projectId = queryValue(query, 'project_id') ?? own;
  if (projectId === undefined) throw new AppError('project_required');
  if (own !== undefined && own !== projectId) throw new AppError('project_forbidden', { project: projectId });
  if (!isId(projectId)) throw new AppError('project_not_found', { id: projectId });
  const named = (queryValue(query, 'owner_id') ?? '').slice(0, MAX_OWNER);
  return {
    request,
    caller,
    projectId: asId(projectId),
    ownerId: caller.kind === 'portal' ? caller.ownerId : named,
    api: (via) => new OwnApi(app, request, { projectId, via: `mcp/${via}` }),
  };
}
