import type { FastifyInstance, FastifyRequest } from 'fastify';
import { via } from '../../api/http/access/via.ts';

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
export class OwnApi implements ProjectApi {
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
