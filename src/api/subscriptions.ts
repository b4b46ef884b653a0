import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { parsePageRequest, queryValue, queryValues } from '../domain/pagination.ts';
import { compileFilter } from '../matcher/filter.ts';
import { changeConfig } from '../store/config-version.ts';
import type { ProjectRow } from '../store/projects.ts';
import {
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  type SubscriptionFields,
  type SubscriptionRow,
  saveSubscription,
} from '../store/subscriptions.ts';
import type { ApiContext } from './context.ts';
import { found, invalid, mapPage, PageOf, pageQuery, Repeated } from './fields.ts';
import { registerOperation } from './operation.ts';
import { changedSubscriptionFields, checkLinks, newSubscriptionFields } from './subscription-input.ts';
import {
  CreateSubscription,
  Subscription,
  toSubscription,
  UpdateSubscription,
} from './subscription-schema.ts';
import { FilterExplanation, sampleSubject, shownExplanation, TestFilter } from './test-filter.ts';
import { checkFunction } from './test-function.ts';

type Out = Static<typeof Subscription>;

const path = '/api/v1/projects/:projectID/subscriptions';
const onePath = `${path}/:subscriptionID`;
const tag = 'Subscriptions';

export function registerSubscriptions(app: FastifyInstance, context: ApiContext): void {
  const subscriptions = new Subscriptions(context);
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createSubscription',
    tag,
    summary: 'Subscribes an endpoint to event types.',
    body: CreateSubscription,
    status: 201,
    message: 'Subscription created',
    data: Subscription,
    handle: ({ project, body }) => subscriptions.create(project, body),
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listSubscriptions',
    tag,
    summary: 'Lists subscriptions.',
    query: Type.Object({
      ...pageQuery,
      endpointId: Repeated('Only subscriptions of these endpoints.'),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
    }),
    status: 200,
    message: 'Subscriptions fetched',
    data: PageOf(Subscription),
    handle: ({ project, query }) => subscriptions.list(project, query),
  });
  registerOperation(app, {
    method: 'GET',
    path: onePath,
    id: 'getSubscription',
    tag,
    summary: 'Fetches a subscription.',
    status: 200,
    message: 'Subscription fetched',
    data: Subscription,
    handle: ({ project, params }) => subscriptions.get(project, params['subscriptionID'] ?? ''),
  });
  registerOperation(app, {
    method: 'PUT',
    path: onePath,
    id: 'updateSubscription',
    tag,
    summary: 'Updates a subscription; what is not named keeps its value.',
    body: UpdateSubscription,
    status: 202,
    message: 'Subscription updated',
    data: Subscription,
    handle: ({ project, params, body }) =>
      subscriptions.update(project, params['subscriptionID'] ?? '', body),
  });
  registerOperation(app, {
    method: 'DELETE',
    path: onePath,
    id: 'deleteSubscription',
    tag,
    summary: 'Deletes a subscription.',
    status: 200,
    message: 'Subscription deleted',
    data: Type.Null(),
    handle: ({ project, params }) => subscriptions.delete(project, params['subscriptionID'] ?? ''),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/toggle_status`,
    id: 'toggleSubscriptionStatus',
    tag,
    summary: 'Switches between active and inactive; an inactive subscription matches nothing.',
    status: 202,
    message: 'Subscription status changed',
    data: Subscription,
    handle: ({ project, params }) =>
      subscriptions.change(project, params['subscriptionID'] ?? '', (row) => ({
        ...row,
        status: row.status === 'active' ? 'inactive' : 'active',
      })),
  });
  registerOperation(app, {
    method: 'POST',
    path: `${path}/test_filter`,
    id: 'testFilter',
    tag,
    summary: 'Tries a filter on a request; nothing is stored.',
    body: TestFilter,
    status: 200,
    message: 'Filter tried',
    data: Type.Boolean({ description: 'Whether the filter lets the request through.' }),
    beside: { explain: FilterExplanation },
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

class Subscriptions {
  readonly #context: ApiContext;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  async create(project: ProjectRow, body: Static<typeof CreateSubscription>): Promise<Out> {
    const id = this.#context.ids.next();
    await this.#checkFunction(project, body.function);
    return this.#save(project, id, () => newSubscriptionFields(body, project.config));
  }

  async list(project: ProjectRow, query: Record<string, string | string[] | undefined>) {
    const { db, endpoints, sources } = this.#context;
    const page = await listSubscriptions(db, project.id, {
      page: parsePageRequest(query),
      endpointIds: queryValues(query, 'endpointId'),
      name: queryValue(query, 'name'),
    });
    const [endpointRows, sourceRows] = await Promise.all([
      endpoints.byIds(
        db,
        page.rows.map((row) => row.endpoint_id),
      ),
      sources.byIds(
        db,
        project.id,
        page.rows.map((row) => row.source_id),
      ),
    ]);
    return mapPage(page, (row) =>
      toSubscription(row, {
        endpoint: endpointRows.get(row.endpoint_id),
        source: sourceRows.get(row.source_id),
        publicUrl: this.#context.publicUrl(),
      }),
    );
  }

  async get(project: ProjectRow, id: string): Promise<Out> {
    return this.#out(found(await getSubscription(this.#context.db, project.id, id), 'subscription', id));
  }

  async update(project: ProjectRow, id: string, body: Static<typeof UpdateSubscription>): Promise<Out> {
    await this.#checkFunction(project, body.function);
    return this.change(project, id, (row) => changedSubscriptionFields(row, body, project.config));
  }

  change(
    project: ProjectRow,
    id: string,
    change: (row: SubscriptionRow) => SubscriptionFields,
  ): Promise<Out> {
    return this.#save(project, id, (row) => change(found(row, 'subscription', id)));
  }

  async delete(project: ProjectRow, id: string): Promise<null> {
    const { db, cache } = this.#context;
    await changeConfig(db, project.id, async (tx, version) => {
      found(await getSubscription(tx, project.id, id), 'subscription', id);
      await deleteSubscription(tx, { projectId: project.id, id }, version);
    });
    await cache.refresh(project.id);
    return null;
  }

  #checkFunction(project: ProjectRow, code = ''): Promise<void> {
    return checkFunction(this.#context, 'function', { projectId: project.id, code });
  }

  /** The project's row is locked meanwhile, so what is checked still holds when it is stored. */
  async #save(
    project: ProjectRow,
    id: string,
    make: (known: SubscriptionRow | undefined) => SubscriptionFields,
  ): Promise<Out> {
    const { db, cache } = this.#context;
    const saved = await changeConfig(db, project.id, async (tx, version) => {
      const known = await getSubscription(tx, project.id, id);
      const fields = make(known);
      await checkLinks(this.#context, tx, { project, fields, known });
      return saveSubscription(tx, { id, projectId: project.id, version, fields });
    });
    await cache.refresh(project.id);
    return this.#out(saved);
  }

  async #out(row: SubscriptionRow): Promise<Out> {
    const { db, endpoints, sources } = this.#context;
    const [endpoint, source] = await Promise.all([
      endpoints.get(db, row.project_id, row.endpoint_id),
      row.source_id === '' ? undefined : sources.get(db, row.project_id, row.source_id),
    ]);
    return toSubscription(row, { endpoint, source, publicUrl: this.#context.publicUrl() });
  }
}
