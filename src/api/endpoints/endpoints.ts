import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Alert } from '../../domain/alert.ts';
import { type Actor, type AuditAction, changeOf } from '../../domain/audit.ts';
import type { EndpointStatus } from '../../domain/endpoint.ts';
import { type EndpointScope, owned } from '../../domain/endpoint-scope.ts';
import { AppError } from '../../domain/errors.ts';
import { parsePageRequest, queryValue } from '../../domain/pagination.ts';
import { Secret } from '../../platform/secret.ts';
import { changeConfig } from '../../store/config/config-version.ts';
import type { EndpointChange, EndpointRow } from '../../store/config/endpoints.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { deleteSubscriptionsOfEndpoint } from '../../store/config/subscriptions.ts';
import type { ApiContext } from '../http/context.ts';
import { found, iso, mapPage, Nothing, PageOf, pageQuery } from '../http/fields.ts';
import { type Call, registerOperation } from '../http/operation.ts';
import { endpointChanges, newEndpointChanges } from '../http/versions/endpoint-changes.ts';
import { changedCredentials } from './endpoint-credentials.ts';
import {
  changedEndpointFields,
  checkEndpoint,
  newEndpointFields,
  newEndpointSecrets,
  newSecret,
} from './endpoint-input.ts';
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

/** The endpoint of the path, within what the caller may see. */
interface One {
  project: ProjectRow;
  id: string;
  scope: EndpointScope | undefined;
  actor: Actor;
}

function one(call: Call<unknown, typeof onePath>): One {
  const { project, params, scope, actor } = call;
  return { project, id: params.endpointID, scope, actor };
}

/** What happens to an endpoint; meta events and the audit log call it the same. */
type EndpointAction = EndpointChange['type'] & AuditAction;

const DISABLED = { type: 'endpoint.disabled', reason: 'it was changed with is_disabled' } as const;

/** The all-clear of an endpoint that the service had disabled. */
function enabledAlert(endpoint: EndpointRow): Alert {
  const summary = 'It was made active again: deliveries go out.';
  return { kind: 'disabled', state: 'cleared', endpoint, subscription: null, summary, lastFailure: null };
}

class Endpoints {
  readonly #context: ApiContext;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  async create(
    { project, scope, actor }: Omit<One, 'id'>,
    body: Static<typeof CreateEndpoint>,
  ): Promise<Out> {
    const { ids, endpoints, cache } = this.#context;
    checkEndpoint(this.#context, project.config, body);
    const id = ids.next();
    const secret = newEndpointSecrets(this.#context, body);
    const fields = newEndpointFields(body, id);
    if (scope !== undefined) fields.owner_id = scope.ownerId;
    const made = { id, projectId: project.id, fields, secret, told: [{ type: 'endpoint.created' }] } as const;
    const by = { projectId: project.id, actor };
    const row = await changeConfig(this.#context, by, async (tx, version) => {
      const saved = await endpoints.save(tx, { ...made, version });
      return { result: saved, audit: [changeOf('endpoint.created', null, saved)] };
    });
    await cache.refresh(project.id);
    return toEndpoint(row);
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

  update(one: One, body: Static<typeof UpdateEndpoint>): Promise<Out> {
    checkEndpoint(this.#context, one.project.config, body);
    return this.#change(one, 'endpoint.updated', (row) => {
      const known = row.secret.reveal();
      const isNew = body.secret && body.secret !== known.secrets.at(-1)?.value;
      return {
        ...row,
        ...changedEndpointFields(row, body),
        // The holder of a portal link cannot give an endpoint away.
        ...(one.scope !== undefined && { owner_id: row.owner_id }),
        secret: new Secret({
          ...changedCredentials(this.#context, known, body),
          ...(isNew && { secrets: [newSecret(this.#context, body.secret)] }),
        }),
      };
    });
  }

  async delete({ project, id, scope, actor }: One): Promise<null> {
    const { endpoints, cache } = this.#context;
    const place = { projectId: project.id, id };
    await changeConfig(this.#context, { projectId: project.id, actor }, async (tx, version) => {
      const row = found(owned(scope, await endpoints.getForUpdate(tx, project.id, id)), 'endpoint', id);
      await endpoints.delete(tx, place, version);
      const subscriptions = await deleteSubscriptionsOfEndpoint(tx, place, version);
      const ended = subscriptions.map((subscription) => changeOf('subscription.deleted', subscription, null));
      return { result: null, audit: [changeOf('endpoint.deleted', row, null), ...ended] };
    });
    await cache.refresh(project.id);
    return null;
  }

  togglePause(one: One): Promise<Out> {
    return this.#setStatus(one, (status) => {
      if (status === 'inactive')
        throw new AppError('wrong_state', {
          detail: 'An inactive endpoint cannot be paused; activate it first.',
        });
      return status === 'active' ? 'paused' : 'active';
    });
  }

  activate(one: One): Promise<Out> {
    return this.#setStatus(one, (status) => {
      if (status === 'active')
        throw new AppError('wrong_state', { detail: 'This endpoint is active already.' });
      return 'active';
    });
  }

  expireSecret(one: One, body: Static<typeof ExpireSecret>): Promise<Out> {
    const nowMs = this.#context.now();
    const expiresAt = iso(nowMs + (body.expiration ?? 0) * 1000);
    return this.#change(one, 'endpoint.secret_rolled', (row) => {
      const known = row.secret.reveal();
      const live = known.secrets.filter(
        (secret) => secret.expires_at === null || Date.parse(secret.expires_at) > nowMs,
      );
      const old = live.map((secret) =>
        secret.expires_at === null ? { ...secret, expires_at: expiresAt, updated_at: iso(nowMs) } : secret,
      );
      const secrets = [...old, newSecret(this.#context, body.secret)];
      return { ...row, secret: new Secret({ ...known, secrets }) };
    });
  }

  #setStatus(one: One, next: (status: EndpointStatus) => EndpointStatus): Promise<Out> {
    const type = ({ status }: EndpointRow) =>
      status === 'paused' ? ('endpoint.paused' as const) : ('endpoint.activated' as const);
    return this.#change(one, type, (row) => ({ ...row, status: next(row.status) }));
  }

  async #change(
    { project, id, scope, actor }: One,
    told: EndpointAction | ((saved: EndpointRow) => EndpointAction),
    change: (row: EndpointRow) => EndpointRow,
  ): Promise<Out> {
    const { endpoints, cache } = this.#context;
    const by = { projectId: project.id, actor };
    const { saved, alerts } = await changeConfig(this.#context, by, async (tx, version) => {
      const known = found(owned(scope, await endpoints.getForUpdate(tx, project.id, id)), 'endpoint', id);
      const row = change(known);
      const type = typeof told === 'string' ? told : told(row);
      const isDisabled = known.status !== 'inactive' && row.status === 'inactive';
      const result = await endpoints.save(tx, {
        id,
        projectId: project.id,
        version,
        fields: row,
        secret: row.secret,
        told: [{ type }, ...(isDisabled ? [DISABLED] : [])],
      });
      const isEnabled = known.status === 'inactive' && result.status !== 'inactive';
      const cleared = isEnabled ? [enabledAlert(result)] : [];
      const moved = await this.#context.alerts.record(tx, project, cleared, version);
      return { result: { saved: result, alerts: moved }, audit: [changeOf(type, known, result)] };
    });
    this.#context.alerts.notify(alerts);
    await cache.refresh(project.id);
    return this.#out(project, saved);
  }

  async #out(project: ProjectRow, row: EndpointRow): Promise<Out> {
    return (await endpointView(this.#context, project.id, [row.id]))(row);
  }
}
