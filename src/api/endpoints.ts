import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { EndpointStatus } from '../domain/endpoint.ts';
import { AppError } from '../domain/errors.ts';
import { parsePageRequest, queryValue } from '../domain/pagination.ts';
import { changeConfig } from '../store/config-version.ts';
import { type EndpointRow, endpointHealth } from '../store/endpoints.ts';
import type { ProjectRow } from '../store/projects.ts';
import { deleteSubscriptionsOfEndpoint } from '../store/subscriptions.ts';
import type { ApiContext } from './context.ts';
import {
  authentication,
  changedEndpointFields,
  checkEndpoint,
  newEndpointFields,
  newEndpointSecrets,
  newSecret,
} from './endpoint-input.ts';
import { CreateEndpoint, Endpoint, ExpireSecret, toEndpoint, UpdateEndpoint } from './endpoint-schema.ts';
import { found, iso, mapPage, PageOf, pageQuery } from './fields.ts';
import { registerOperation } from './operation.ts';

type Out = Static<typeof Endpoint>;

const path = '/api/v1/projects/:projectID/endpoints';
const onePath = `${path}/:endpointID`;
const tag = 'Endpoints';

export function registerEndpoints(app: FastifyInstance, context: ApiContext): void {
  const endpoints = new Endpoints(context);
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createEndpoint',
    tag,
    summary: 'Makes an endpoint.',
    body: CreateEndpoint,
    status: 201,
    message: 'Endpoint created',
    data: Endpoint,
    handle: ({ project, body }) => endpoints.create(project, body),
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listEndpoints',
    tag,
    summary: 'Lists endpoints.',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      ownerId: Type.Optional(Type.String()),
    }),
    status: 200,
    message: 'Endpoints fetched',
    data: PageOf(Endpoint),
    handle: ({ project, query }) => endpoints.list(project, query),
  });
  registerOperation(app, {
    method: 'GET',
    path: onePath,
    id: 'getEndpoint',
    tag,
    summary: 'Fetches an endpoint.',
    status: 200,
    message: 'Endpoint fetched',
    data: Endpoint,
    handle: ({ project, params }) => endpoints.get(project, params['endpointID'] ?? ''),
  });
  registerOperation(app, {
    method: 'PUT',
    path: onePath,
    id: 'updateEndpoint',
    tag,
    summary: 'Updates an endpoint.',
    body: UpdateEndpoint,
    status: 202,
    message: 'Endpoint updated',
    data: Endpoint,
    handle: ({ project, params, body }) => endpoints.update(project, params['endpointID'] ?? '', body),
  });
  registerOperation(app, {
    method: 'DELETE',
    path: onePath,
    id: 'deleteEndpoint',
    tag,
    summary: 'Deletes an endpoint and its subscriptions.',
    status: 200,
    message: 'Endpoint deleted',
    data: Type.Null(),
    handle: ({ project, params }) => endpoints.delete(project, params['endpointID'] ?? ''),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/pause`,
    id: 'pauseEndpoint',
    tag,
    summary: 'Switches between active and paused; while paused deliveries are held.',
    status: 202,
    message: 'Endpoint status changed',
    data: Endpoint,
    handle: ({ project, params }) => endpoints.togglePause(project, params['endpointID'] ?? ''),
  });
  registerOperation(app, {
    method: 'POST',
    path: `${onePath}/activate`,
    id: 'activateEndpoint',
    tag,
    summary: 'Makes an inactive or paused endpoint active.',
    status: 202,
    message: 'Endpoint activated',
    data: Endpoint,
    handle: ({ project, params }) => endpoints.activate(project, params['endpointID'] ?? ''),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/expire_secret`,
    id: 'expireSecret',
    tag,
    summary: 'Rolls the signing secret; the old one signs along until it expires.',
    body: ExpireSecret,
    status: 200,
    message: 'Endpoint secret rolled',
    data: Endpoint,
    handle: ({ project, params, body }) => endpoints.expireSecret(project, params['endpointID'] ?? '', body),
  });
}

class Endpoints {
  readonly #context: ApiContext;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  async create(project: ProjectRow, body: Static<typeof CreateEndpoint>): Promise<Out> {
    const { db, ids, endpoints, cache } = this.#context;
    checkEndpoint(this.#context, project.config, body);
    const id = ids.next();
    const secret = newEndpointSecrets(this.#context, body);
    const row = await changeConfig(db, project.id, (tx, version) =>
      endpoints.save(tx, { id, projectId: project.id, version, fields: newEndpointFields(body, id), secret }),
    );
    await cache.refresh(project.id);
    return toEndpoint(row);
  }

  async list(project: ProjectRow, query: Record<string, string | string[] | undefined>) {
    const page = await this.#context.endpoints.list(this.#context.db, project.id, {
      page: parsePageRequest(query),
      name: queryValue(query, 'q'),
      ownerId: queryValue(query, 'ownerId'),
    });
    const health = await this.#health(project, page.rows);
    return mapPage(page, (row) => toEndpoint(row, health.get(row.id)));
  }

  async get(project: ProjectRow, id: string): Promise<Out> {
    return this.#out(
      project,
      found(await this.#context.endpoints.get(this.#context.db, project.id, id), 'endpoint', id),
    );
  }

  update(project: ProjectRow, id: string, body: Static<typeof UpdateEndpoint>): Promise<Out> {
    checkEndpoint(this.#context, project.config, body);
    return this.#change(project, id, (row) => ({
      ...row,
      ...changedEndpointFields(row, body),
      secret: { ...row.secret, authentication: authentication(body) },
    }));
  }

  async delete(project: ProjectRow, id: string): Promise<null> {
    const { db, endpoints, cache } = this.#context;
    await changeConfig(db, project.id, async (tx, version) => {
      found(await endpoints.getForUpdate(tx, project.id, id), 'endpoint', id);
      await endpoints.delete(tx, id, version);
      await deleteSubscriptionsOfEndpoint(tx, id, version);
    });
    await cache.refresh(project.id);
    return null;
  }

  togglePause(project: ProjectRow, id: string): Promise<Out> {
    return this.#setStatus(project, id, (status) => {
      if (status === 'inactive')
        throw new AppError('wrong_state', {
          detail: 'An inactive endpoint cannot be paused; activate it first.',
        });
      return status === 'active' ? 'paused' : 'active';
    });
  }

  activate(project: ProjectRow, id: string): Promise<Out> {
    return this.#setStatus(project, id, (status) => {
      if (status === 'active')
        throw new AppError('wrong_state', { detail: 'This endpoint is active already.' });
      return 'active';
    });
  }

  expireSecret(project: ProjectRow, id: string, body: Static<typeof ExpireSecret>): Promise<Out> {
    const nowMs = this.#context.now();
    const expiresAt = iso(nowMs + (body.expiration ?? 0) * 1000);
    return this.#change(project, id, (row) => {
      const live = row.secret.secrets.filter(
        (secret) => secret.expires_at === null || Date.parse(secret.expires_at) > nowMs,
      );
      const old = live.map((secret) =>
        secret.expires_at === null ? { ...secret, expires_at: expiresAt, updated_at: iso(nowMs) } : secret,
      );
      return { ...row, secret: { ...row.secret, secrets: [...old, newSecret(this.#context, body.secret)] } };
    });
  }

  #setStatus(
    project: ProjectRow,
    id: string,
    next: (status: EndpointStatus) => EndpointStatus,
  ): Promise<Out> {
    return this.#change(project, id, (row) => ({ ...row, status: next(row.status) }));
  }

  async #change(project: ProjectRow, id: string, change: (row: EndpointRow) => EndpointRow): Promise<Out> {
    const { db, endpoints, cache } = this.#context;
    const saved = await changeConfig(db, project.id, async (tx, version) => {
      const row = change(found(await endpoints.getForUpdate(tx, project.id, id), 'endpoint', id));
      return endpoints.save(tx, { id, projectId: project.id, version, fields: row, secret: row.secret });
    });
    await cache.refresh(project.id);
    return this.#out(project, saved);
  }

  async #out(project: ProjectRow, row: EndpointRow): Promise<Out> {
    return toEndpoint(row, (await this.#health(project, [row])).get(row.id));
  }

  #health(project: ProjectRow, rows: EndpointRow[]) {
    const minutes = project.config.circuit_breaker.observability_window;
    return endpointHealth(
      this.#context.db,
      rows.map((row) => row.id),
      minutes,
    );
  }
}
