import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  createSubscription,
  deleteSubscription,
  type OneSubscription,
  toggleSubscription,
  updateSubscription,
} from '../../control/subscription-changes.ts';
import { type EndpointScope, visible } from '../../domain/endpoint-scope.ts';
import { found, invalid } from '../../domain/errors.ts';
import { parsePageRequest, queryValue, queryValues } from '../../domain/pagination.ts';
import { compileFilter } from '../../matcher/filter.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { type SubscriptionRow, subscriptions } from '../../store/config/subscriptions.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import { checkFunction } from '../http/check-function.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery, Repeated } from '../http/fields.ts';
import { type Call, registerOperation } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { filterWarnings } from './filter-conditions.ts';
import { changedSubscriptionFields, newSubscriptionFields } from './subscription-input.ts';
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
  const resource = new Subscriptions(context);
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
    handle: (call) => resource.create(call, call.body),
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
    handle: ({ project, query, scope }) => resource.list(project, query, scope),
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
    handle: (call) => resource.get(one(call)),
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
    handle: (call) => resource.update(one(call), call.body),
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
    handle: (call) => resource.delete(one(call)),
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
    handle: (call) => resource.toggle(one(call)),
  });
  registerOperation(app, {
    method: 'POST',
    path: `${path}/test_filter`,
    id: 'testFilter',
    tag,
    summary: 'Test a filter on a request. Nothing is stored.',
    body: TestFilter,
    status: 200,
    message: 'Filter tried',
    data: Type.Boolean({ description: 'Whether the filter matches the request.' }),
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

/** The subscription of the path, within the scope of the caller. */
interface One extends OneSubscription {
  project: ProjectRow;
}

function one(call: Call<unknown, typeof onePath>): One {
  const { project, params, scope, actor } = call;
  return { project, projectId: project.id, id: params.subscriptionID, scope, actor };
}

class Subscriptions {
  readonly #context: ApiContext;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  async create(
    { project, scope, actor }: Omit<One, 'id' | 'projectId'>,
    body: Static<typeof CreateSubscription>,
  ): Promise<Out> {
    const { changes, ids } = this.#context;
    await this.#checkFunction(project, body.function);
    const one = { projectId: project.id, id: ids.next(), scope, actor };
    return this.#out(
      await createSubscription(changes, one, () => newSubscriptionFields(body, project.config)),
    );
  }

  async list(
    project: ProjectRow,
    query: Record<string, string | string[] | undefined>,
    scope: EndpointScope | undefined,
  ) {
    const { db, endpoints, sources } = this.#context;
    const page = await subscriptions.list(db, project.id, {
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
    const row = await subscriptions.get(this.#context.db, project.id, id);
    return this.#out(found(visible(scope, row, endpointOf), 'subscription', id));
  }

  async update(one: One, body: Static<typeof UpdateSubscription>): Promise<Out> {
    const { changes } = this.#context;
    const { config } = one.project;
    await this.#checkFunction(one.project, body.function);
    const make = (row: SubscriptionRow) => changedSubscriptionFields(row, body, config);
    return this.#out(await updateSubscription(changes, one, make));
  }

  async toggle(one: One): Promise<Out> {
    return this.#out(await toggleSubscription(this.#context.changes, one));
  }

  delete(one: One): Promise<null> {
    return deleteSubscription(this.#context.changes, one);
  }

  #checkFunction(project: ProjectRow, code = ''): Promise<void> {
    return checkFunction(this.#context, 'function', { projectId: project.id, code });
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
