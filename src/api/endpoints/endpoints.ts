import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  activateEndpoint,
  createEndpoint,
  deleteEndpoint,
  type OneEndpoint,
  rollSecret,
  togglePause,
  updateEndpoint,
} from '../../control/endpoint-changes.ts';
import { type EndpointScope, owned } from '../../domain/endpoint-scope.ts';
import { found } from '../../domain/errors.ts';
import { parsePageRequest, queryValue } from '../../domain/pagination.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery } from '../http/fields.ts';
import { type Call, registerOperation } from '../http/operation.ts';
import { endpointChanges, newEndpointChanges } from '../http/versions/endpoint-changes.ts';
import { changedEndpoint, checkEndpoint, createdEndpoint } from './endpoint-input.ts';
import { CreateEndpoint, Endpoint, ExpireSecret, toEndpoint, UpdateEndpoint } from './endpoint-schema.ts';
import { endpointView } from './endpoint-view.ts';

type Out = Static<typeof Endpoint>;

const path = '/api/v1/projects/:projectID/endpoints';
const onePath = `${path}/:endpointID` as const;
const tag = 'Endpoints';

export function registerEndpoints(app: FastifyInstance, context: ApiContext): void {
  const endpoints = new Endpoints(context);
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createEndpoint',
    tag,
    summary: 'Create an endpoint.',
    body: CreateEndpoint,
    status: 201,
    message: 'Endpoint created',
    data: Endpoint,
    portal: 'manage',
    changes: newEndpointChanges,
    handle: (call) => endpoints.create(call, call.body),
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listEndpoints',
    tag,
    summary: 'List endpoints.',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      ownerId: Type.Optional(Type.String()),
    }),
    status: 200,
    message: 'Endpoints fetched',
    data: PageOf(Endpoint),
    portal: 'read',
    changes: endpointChanges,
    handle: ({ project, query, scope }) => endpoints.list(project, query, scope),
  });
  registerOperation(app, {
    method: 'GET',
    path: onePath,
    id: 'getEndpoint',
    tag,
    summary: 'Get an endpoint.',
    status: 200,
    message: 'Endpoint fetched',
    data: Endpoint,
    portal: 'read',
    changes: endpointChanges,
    handle: (call) => endpoints.get(one(call)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: onePath,
    id: 'updateEndpoint',
    tag,
    summary: 'Update an endpoint. Fields that are not named keep their value.',
    body: UpdateEndpoint,
    status: 202,
    message: 'Endpoint updated',
    data: Endpoint,
    portal: 'manage',
    changes: endpointChanges,
    handle: (call) => endpoints.update(one(call), call.body),
  });
  registerOperation(app, {
    method: 'DELETE',
    path: onePath,
    id: 'deleteEndpoint',
    tag,
    summary: 'Delete an endpoint and its subscriptions.',
    status: 200,
    message: 'Endpoint deleted',
    data: Nothing,
    portal: 'manage',
    handle: (call) => endpoints.delete(one(call)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/pause`,
    id: 'pauseEndpoint',
    tag,
    summary: 'Pause an active endpoint, or resume a paused one. Deliveries wait while it is paused.',
    status: 202,
    message: 'Endpoint status changed',
    data: Endpoint,
    portal: 'manage',
    changes: endpointChanges,
    handle: (call) => endpoints.togglePause(one(call)),
  });
  registerOperation(app, {
    method: 'POST',
    path: `${onePath}/activate`,
    id: 'activateEndpoint',
    tag,
    summary: 'Activate an inactive or paused endpoint.',
    status: 202,
    message: 'Endpoint activated',
    data: Endpoint,
    changes: endpointChanges,
    handle: (call) => endpoints.activate(one(call)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/expire_secret`,
    id: 'expireSecret',
    tag,
    summary: 'Roll the signing secret. The old secret keeps signing until it expires.',
    body: ExpireSecret,
    status: 200,
    message: 'Endpoint secret rolled',
    data: Endpoint,
    portal: 'manage',
    handle: (call) => endpoints.expireSecret(one(call), call.body),
  });
}

/** The endpoint of the path, within the scope of the caller. */
interface One extends OneEndpoint {
  project: ProjectRow;
}

function one(call: Call<unknown, typeof onePath>): One {
  const { project, params, scope, actor } = call;
  return { project, projectId: project.id, id: params.endpointID, scope, actor };
}

class Endpoints {
  readonly #context: ApiContext;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  async create(
    { project, scope, actor }: Omit<One, 'id' | 'projectId'>,
    body: Static<typeof CreateEndpoint>,
  ): Promise<Out> {
    const { changes } = this.#context;
    checkEndpoint(this.#context, project.config, body);
    const made = createdEndpoint(this.#context, body);
    if (scope !== undefined) made.fields.owner_id = scope.ownerId;
    return toEndpoint(await createEndpoint(changes, { projectId: project.id, actor }, made));
  }

  async list(
    project: ProjectRow,
    query: Record<string, string | string[] | undefined>,
    scope: EndpointScope | undefined,
  ) {
    const page = await this.#context.endpoints.list(this.#context.db, project.id, {
      page: parsePageRequest(query),
      scope,
      name: queryValue(query, 'q'),
      ownerId: queryValue(query, 'ownerId'),
    });
    const ids = page.rows.map((row) => row.id);
    return mapPage(page, await endpointView(this.#context, project.id, ids));
  }

  async get({ project, id, scope }: One): Promise<Out> {
    const row = await this.#context.endpoints.get(this.#context.db, project.id, id);
    return this.#out(project, found(owned(scope, row), 'endpoint', id));
  }

  async update(one: One, body: Static<typeof UpdateEndpoint>): Promise<Out> {
    checkEndpoint(this.#context, one.project.config, body);
    const row = await updateEndpoint(this.#context.changes, one, (known) => ({
      ...changedEndpoint(this.#context, known, body),
      // The holder of a portal link cannot change the owner of an endpoint.
      ...(one.scope !== undefined && { owner_id: known.owner_id }),
    }));
    return this.#out(one.project, row);
  }

  delete(one: One): Promise<null> {
    return deleteEndpoint(this.#context.changes, one);
  }

  async togglePause(one: One): Promise<Out> {
    return this.#out(one.project, await togglePause(this.#context.changes, one));
  }

  async activate(one: One): Promise<Out> {
    return this.#out(one.project, await activateEndpoint(this.#context.changes, one));
  }

  async expireSecret(one: One, body: Static<typeof ExpireSecret>): Promise<Out> {
    const wanted = { seconds: body.expiration ?? 0, value: body.secret };
    return this.#out(one.project, await rollSecret(this.#context.changes, one, wanted));
  }

  async #out(project: ProjectRow, row: EndpointRow): Promise<Out> {
    return (await endpointView(this.#context, project.id, [row.id]))(row);
  }
}
