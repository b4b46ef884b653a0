import type { FastifyInstance } from 'fastify';
import {
  createSubscription,
  deleteSubscription,
  toggleSubscription,
  updateSubscription,
} from '../../control/subscription-changes.ts';
import { type EndpointScope, requireFunctionRight, visible } from '../../domain/endpoint-scope.ts';
import { found, invalid } from '../../domain/errors.ts';
import { asId, type ProjectId, type SubscriptionId } from '../../domain/ids.ts';
import { parsePageRequest, queryValue, queryValues } from '../../domain/pagination.ts';
import type { SubscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { compileFilter } from '../../matcher/filter.ts';
import { inSlices, nextTurn } from '../../platform/time/next-turn.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { type SubscriptionRow, subscriptions } from '../../store/config/subscriptions.ts';
import { checkSubscriptionFunction, withoutMaskedCode } from '../http/check-function.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery, Repeated } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { filterWarnings } from './filter-conditions.ts';
import { changedSubscriptionFields, limitsOf, newSubscriptionFields } from './subscription-input.ts';
import { CreateSubscription, Subscription, UpdateSubscription } from './subscription-schema.ts';
import { subscriptionView } from './subscription-view.ts';
import { FilterExplanation, sampleSubject, shownExplanation, TestFilter } from './test-filter.ts';

const path = '/api/v1/projects/:projectID/subscriptions';
const onePath = `${path}/:subscriptionID` as const;
const route = operationsOf('Subscriptions');

export function registerSubscriptions(app: FastifyInstance, context: ApiContext): void {
  const { db, ids, changes } = context;
  const show = async (row: SubscriptionRow) => (await subscriptionView(context, row.project_id, [row]))(row);
  const get = async (projectId: ProjectId, scope: EndpointScope | undefined, id: SubscriptionId) => {
    const row = await subscriptions.get(db, projectId, id);
    const seen = visible(scope, row, (known) => known.endpoint_id);
    return show(found(seen, 'subscription', id));
  };
  const check = (project: ProjectRow, code = '') =>
    checkSubscriptionFunction(context, { projectId: project.id, code });
  route.post(app, path, {
    id: 'createSubscription',
    summary: 'Create a subscription: subscribe an endpoint to event types.',
    body: CreateSubscription,
    status: 201,
    message: 'Subscription created',
    data: Subscription,
    warn: ({ filter_config }) => filterWarnings(filter_config?.filter, 'filter_config.filter'),
    portal: 'manage',
    dryRun: true,
    access: 'developer',
    handle: async ({ project, by, scope, body }) => {
      await check(project, body.function);
      requireFunctionRight(scope, { known: '', wanted: body.function });
      const one = { ...by, id: ids.next<SubscriptionId>(), scope };
      const make = () =>
        withoutKey(scope, newSubscriptionFields(body, limitsOf(context, project), by.isDryRun), '');
      return show(await createSubscription(changes, one, make));
    },
    again: ({ project, scope }, { id }) => get(project.id, scope, asId(id)),
  });
  route.get(app, path, {
    id: 'listSubscriptions',
    summary: 'List subscriptions.',
    query: Type.Object({
      ...pageQuery,
      endpointId: Repeated('Only subscriptions of these endpoints.'),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
    }),
    message: 'Subscriptions fetched',
    data: PageOf(Subscription),
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const list = {
        page: parsePageRequest(query),
        scope,
        endpointIds: queryValues(query, 'endpointId'),
        name: queryValue(query, 'name'),
      };
      const page = await db.reading(project.id, (tx) => subscriptions.list(tx, project.id, list));
      return mapPage(page, await subscriptionView(context, project.id, page.rows));
    },
  });
  route.get(app, onePath, {
    id: 'getSubscription',
    summary: 'Get a subscription.',
    message: 'Subscription fetched',
    data: Subscription,
    portal: 'read',
    access: 'viewer',
    handle: ({ project, params, scope }) => get(project.id, scope, params.subscriptionID),
  });
  route.put(app, onePath, {
    id: 'updateSubscription',
    summary: 'Update a subscription. Fields that are not named keep their value.',
    body: UpdateSubscription,
    status: 202,
    message: 'Subscription updated',
    data: Subscription,
    warn: ({ filter_config }) => filterWarnings(filter_config?.filter, 'filter_config.filter'),
    portal: 'manage',
    dryRun: true,
    access: 'developer',
    handle: async ({ project, by, params, scope, body: given }) => {
      const body = withoutMaskedCode(given);
      await check(project, body.function);
      const one = { ...by, id: params.subscriptionID, scope };
      const make = (row: SubscriptionRow) => {
        requireFunctionRight(scope, { known: row.function, wanted: body.function });
        return withoutKey(scope, changedSubscriptionFields(row, body, limitsOf(context, project)), row.key);
      };
      return show(await updateSubscription(changes, one, make));
    },
  });
  route.delete(app, onePath, {
    id: 'deleteSubscription',
    summary: 'Delete a subscription.',
    message: 'Subscription deleted',
    data: Nothing,
    portal: 'manage',
    access: 'developer',
    handle: ({ by, params, scope }) =>
      deleteSubscription(changes, { ...by, id: params.subscriptionID, scope }),
  });
  route.put(app, `${onePath}/toggle_status`, {
    id: 'toggleSubscriptionStatus',
    summary: 'Switch a subscription between active and inactive. An inactive one matches nothing.',
    status: 202,
    message: 'Subscription status changed',
    data: Subscription,
    portal: 'manage',
    access: 'developer',
    handle: async ({ by, params, scope }) =>
      show(await toggleSubscription(changes, { ...by, id: params.subscriptionID, scope })),
  });
  route.post(app, `${path}/test_filter`, {
    id: 'testFilter',
    summary: 'Test a filter on a request. Nothing is stored.',
    body: TestFilter,
    message: 'Filter tried',
    data: Type.Boolean({ description: 'Whether the filter matches the request.' }),
    warn: ({ schema }) => filterWarnings(schema, 'schema'),
    beside: { explain: FilterExplanation },
    portal: 'anyone',
    access: 'viewer',
    handle: async ({ body, beside }) => {
      const { header, ...schema } = body.schema ?? {};
      const result = compileFilter({ ...schema, headers: { ...header, ...schema.headers } });
      if (!result.ok) throw invalid(`schema.${result.path}`, result.message);
      const explanation = await inSlices(result.filter.explaining(sampleSubject(body.request ?? {})));
      await nextTurn();
      beside['explain'] = shownExplanation(explanation);
      return explanation.matched;
    },
  });
}

/** A key belongs to the file of the project, so a portal link cannot claim one. */
function withoutKey(
  scope: EndpointScope | undefined,
  fields: SubscriptionFields,
  key: string,
): SubscriptionFields {
  return scope === undefined ? fields : { ...fields, key };
}
