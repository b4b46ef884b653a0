import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Actor, type AuditAction, changeOf } from '../../domain/audit.ts';
import { type EndpointScope, inScope, requireEventTypes, visible } from '../../domain/endpoint-scope.ts';
import { AppError } from '../../domain/errors.ts';
import { parsePageRequest, queryValue, queryValues } from '../../domain/pagination.ts';
import { compileFilter } from '../../matcher/filter.ts';
import { changeConfig } from '../../store/config/config-version.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import {
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  type SubscriptionFields,
  type SubscriptionRow,
  saveSubscription,
} from '../../store/config/subscriptions.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import { checkFunction } from '../http/check-function.ts';
import type { ApiContext } from '../http/context.ts';
import { found, invalid, mapPage, Nothing, PageOf, pageQuery, Repeated } from '../http/fields.ts';
import { type Call, registerOperation } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { filterWarnings } from './filter-conditions.ts';
import { changedSubscriptionFields, checkLinks, newSubscriptionFields } from './subscription-input.ts';
import {
  CreateSubscription,
  Subscription,
  toSubscription,
  UpdateSubscription,
} from './subscription-schema.ts';
import { FilterExplanation, sampleSubject, shownExplanation, TestFilter } from './test-filter.ts';

type Out = Static<typeof Subscription>;

const path = '/api/v1/projects/:projectID/subscriptions';
const onePath = `${path}/:subscriptionID` as const;
const tag = 'Subscriptions';

export function registerSubscriptions(app: FastifyInstance, context: ApiContext): void {
  const subscriptions = new Subscriptions(context);
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createSubscription',
    tag,
    summary: 'Create a subscription: subscribe an endpoint to event types.',
    body: CreateSubscription,
    status: 201,
    message: 'Subscription created',
    data: Subscription,
    warn: ({ filter_config }) => filterWarnings(filter_config?.filter, 'filter_config.filter'),
    portal: 'manage',
    handle: (call) => subscriptions.create(call, call.body),
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listSubscriptions',
    tag,
    summary: 'List subscriptions.',
    query: Type.Object({
      ...pageQuery,
      endpointId: Repeated('Only subscriptions of these endpoints.'),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
    }),
    status: 200,
    message: 'Subscriptions fetched',
    data: PageOf(Subscription),
    portal: 'read',
    handle: ({ project, query, scope }) => subscriptions.list(project, query, scope),
  });
  registerOperation(app, {
    method: 'GET',
    path: onePath,
    id: 'getSubscription',
    tag,
    summary: 'Get a subscription.',
    status: 200,
    message: 'Subscription fetched',
    data: Subscription,
    portal: 'read',
    handle: (call) => subscriptions.get(one(call)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: onePath,
    id: 'updateSubscription',
    tag,
    summary: 'Update a subscription. Fields that are not named keep their value.',
    body: UpdateSubscription,
    status: 202,
    message: 'Subscription updated',
    data: Subscription,
    warn: ({ filter_config }) => filterWarnings(filter_config?.filter, 'filter_config.filter'),
    portal: 'manage',
    handle: (call) => subscriptions.update(one(call), call.body),
  });
  registerOperation(app, {
    method: 'DELETE',
    path: onePath,
    id: 'deleteSubscription',
    tag,
    summary: 'Delete a subscription.',
    status: 200,
    message: 'Subscription deleted',
    data: Nothing,
    portal: 'manage',
    handle: (call) => subscriptions.delete(one(call)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/toggle_status`,
    id: 'toggleSubscriptionStatus',
    tag,
    summary: 'Switch a subscription between active and inactive. An inactive one matches nothing.',
    status: 202,
    message: 'Subscription status changed',
    data: Subscription,
    portal: 'manage',
    handle: (call) => subscriptions.toggle(one(call)),
  });
  registerOperation(app, {
    method: 'POST',
    path: `${path}/test_filter`,
    id: 'testFilter',
    tag,
    summary: 'Try a filter on a request. Nothing is stored.',
    body: TestFilter,
    status: 200,
    message: 'Filter tried',
    data: Type.Boolean({ description: 'Whether the filter lets the request through.' }),
    warn: ({ schema }) => filterWarnings(schema, 'schema'),
    beside: { explain: FilterExplanation },
    portal: 'anyone',
    handle: async ({ body, beside }) => {
      const { header, ...schema } = body.schema ?? {};
      const result = compileFilter({ ...schema, headers: { ...header, ...schema.headers } });
      if (!result.ok) throw invalid(`schema.${result.path}`, result.message);
      const explanation = result.filter.explain(sampleSubject(body.request ?? {}));
      beside['explain'] = shownExplanation(explanation);
      return explanation.matched;
    },
  });
}

/** The subscription of the path, within what the caller may see. */
interface One {
  project: ProjectRow;
  id: string;
  scope: EndpointScope | undefined;
  actor: Actor;
}

function one(call: Call<unknown, typeof onePath>): One {
  const { project, params, scope, actor } = call;
  return { project, id: params.subscriptionID, scope, actor };
}

class Subscriptions {
  readonly #context: ApiContext;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  async create(
    { project, scope, actor }: Omit<One, 'id'>,
    body: Static<typeof CreateSubscription>,
  ): Promise<Out> {
    const id = this.#context.ids.next();
    await this.#checkFunction(project, body.function);
    return this.#save({ project, id, scope, actor }, 'subscription.created', () =>
      newSubscriptionFields(body, project.config),
    );
  }

  async list(
    project: ProjectRow,
    query: Record<string, string | string[] | undefined>,
    scope: EndpointScope | undefined,
  ) {
    const { db, endpoints, sources } = this.#context;
    const page = await listSubscriptions(db, project.id, {
      page: parsePageRequest(query),
      scope,
      endpointIds: queryValues(query, 'endpointId'),
      name: queryValue(query, 'name'),
    });
    const endpointIds = page.rows.map((row) => row.endpoint_id);
    const [endpointRows, showEndpoint, sourceRows] = await Promise.all([
      endpoints.byIds(db, project.id, endpointIds),
      endpointView(this.#context, project.id, endpointIds),
      sources.byIds(
        db,
        project.id,
        page.rows.map((row) => row.source_id),
      ),
    ]);
    return mapPage(page, (row) => {
      const endpoint = endpointRows.get(row.endpoint_id);
      return toSubscription(row, {
        endpoint: endpoint === undefined ? null : shownOrNull(() => showEndpoint(endpoint)),
        source: sourceRows.get(row.source_id),
        publicUrl: this.#context.publicUrl(),
      });
    });
  }

  async get({ project, id, scope }: One): Promise<Out> {
    const row = await getSubscription(this.#context.db, project.id, id);
    return this.#out(found(visible(scope, row, endpointOf), 'subscription', id));
  }

  async update(one: One, body: Static<typeof UpdateSubscription>): Promise<Out> {
    await this.#checkFunction(one.project, body.function);
    return this.#save(one, 'subscription.updated', (row) =>
      changedSubscriptionFields(found(row, 'subscription', one.id), body, one.project.config),
    );
  }

  toggle(one: One): Promise<Out> {
    const action = ({ status }: SubscriptionRow) =>
      status === 'active' ? ('subscription.activated' as const) : ('subscription.deactivated' as const);
    return this.#save(one, action, (known) => {
      const row = found(known, 'subscription', one.id);
      return { ...row, status: row.status === 'active' ? 'inactive' : 'active' };
    });
  }

  async delete({ project, id, scope, actor }: One): Promise<null> {
    await changeConfig(this.#context, { projectId: project.id, actor }, async (tx, version) => {
      const known = await getSubscription(tx, project.id, id);
      const row = found(visible(scope, known, endpointOf), 'subscription', id);
      await deleteSubscription(tx, { projectId: project.id, id }, version);
      return { result: null, audit: [changeOf('subscription.deleted', row, null)] };
    });
    await this.#context.cache.refresh(project.id);
    return null;
  }

  #checkFunction(project: ProjectRow, code = ''): Promise<void> {
    return checkFunction(this.#context, 'function', { projectId: project.id, code });
  }

  /** The project's row is locked meanwhile, so what is checked still holds when it is stored. */
  async #save(
    { project, id, scope, actor }: One,
    action: AuditAction | ((saved: SubscriptionRow) => AuditAction),
    make: (known: SubscriptionRow | undefined) => SubscriptionFields,
  ): Promise<Out> {
    const by = { projectId: project.id, actor };
    const saved = await changeConfig(this.#context, by, async (tx, version) => {
      const known = visible(scope, await getSubscription(tx, project.id, id), endpointOf);
      const fields = make(known);
      if (!inScope(scope, fields.endpoint_id)) throw notInProject(fields.endpoint_id);
      requireEventTypes(scope, added(known, fields.event_types));
      await checkLinks(this.#context, tx, { project, fields, known });
      const result = await saveSubscription(tx, { id, projectId: project.id, version, fields });
      const done = typeof action === 'string' ? action : action(result);
      return { result, audit: [changeOf(done, known, result)] };
    });
    await this.#context.cache.refresh(project.id);
    return this.#out(saved);
  }

  async #out(row: SubscriptionRow): Promise<Out> {
    const { db, endpoints, sources } = this.#context;
    const [endpoint, showEndpoint, source] = await Promise.all([
      endpoints.get(db, row.project_id, row.endpoint_id),
      endpointView(this.#context, row.project_id, [row.endpoint_id]),
      row.source_id === '' ? undefined : sources.get(db, row.project_id, row.source_id),
    ]);
    return toSubscription(row, {
      endpoint: endpoint === undefined ? null : shownOrNull(() => showEndpoint(endpoint)),
      source,
      publicUrl: this.#context.publicUrl(),
    });
  }
}

const endpointOf = (row: SubscriptionRow): string => row.endpoint_id;

function notInProject(id: string): AppError {
  return new AppError('not_in_project', { field: 'endpoint_id', resource: 'endpoint', id });
}

function added(known: SubscriptionRow | undefined, eventTypes: readonly string[]): string[] {
  return eventTypes.filter((type) => known?.event_types.includes(type) !== true);
}
