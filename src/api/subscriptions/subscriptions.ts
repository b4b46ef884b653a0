import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import {
  createSubscription,
  deleteSubscription,
  toggleSubscription,
  updateSubscription,
} from '../../control/subscription-changes.ts';
import { type EndpointScope, requireFunctionRight, visible } from '../../domain/endpoint-scope.ts';
import { invalid } from '../../domain/errors.ts';
import { asId, type ProjectId, type SubscriptionId } from '../../domain/ids.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import type { SubscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { compileFilter } from '../../matcher/filter.ts';
import { inSlices, nextTurn } from '../../platform/time/next-turn.ts';
import { Type } from '../../platform/type.ts';
import { devicesByIds } from '../../store/config/devices.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { type SubscriptionRow, subscriptions } from '../../store/config/subscriptions.ts';
import { deviceOf } from '../endpoints/device-schema.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import { checkSubscriptionFunction, withoutMaskedCode } from '../http/check-settings.ts';
import type { ApiContext, ReadContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { Repeated } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { filterWarnings } from './filter-conditions.ts';
import { changedSubscriptionFields, limitsOf, newSubscriptionFields } from './subscription-input.ts';
import {
  CreateSubscription,
  Subscription,
  toSubscription,
  UpdateSubscription,
} from './subscription-schema.ts';
import { FilterExplanation, sampleSubject, shownExplanation, TestFilter } from './test-filter.ts';

const path = '/api/v1/projects/:projectID/subscriptions';

export function registerSubscriptions(app: FastifyInstance, context: ApiContext): void {
  const { db, ids, changes } = context;
  const check = (project: ProjectRow, code = '') =>
    checkSubscriptionFunction(context, { projectId: project.id, code });
  const warn = ({ filter_config }: Static<typeof UpdateSubscription>) =>
    filterWarnings(filter_config?.filter, 'filter_config.filter');
  const subscription = crud(app, db, {
    tag: 'Subscriptions',
    noun: 'subscription',
    path,
    param: 'subscriptionID',
    data: Subscription,
    access: { read: 'viewer', change: 'developer' },
    isOpenToPortals: true,
    dryRun: true,
    get: async ({ project, scope }, id) =>
      visible(scope, await subscriptions.get(db, project.id, asId(id)), (row) => row.endpoint_id),
    view: ({ project }, rows) => subscriptionView(context, project.id, rows),
  });
  subscription.create({
    summary: 'Create a subscription: subscribe an endpoint to event types.',
    body: CreateSubscription,
    warn,
    make: async ({ project, by, scope, body }) => {
      await check(project, body.function);
      requireFunctionRight(scope, { known: '', wanted: body.function });
      const one = { ...by, id: ids.next<SubscriptionId>(), scope };
      return createSubscription(changes, one, () =>
        withoutKey(scope, newSubscriptionFields(body, limitsOf(context, project), by.isDryRun), ''),
      );
    },
  });
  subscription.pages({
    query: {
      endpointId: Repeated('Only subscriptions of these endpoints.'),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
    },
    filter: ({ query, scope }) => ({
      scope,
      endpointIds: queryValues(query, 'endpointId'),
      name: queryValue(query, 'name'),
    }),
    read: (tx, projectId, list) => subscriptions.list(tx, projectId, list),
  });
  subscription.get();
  subscription.update({
    body: UpdateSubscription,
    warn,
    make: async ({ project, by, params, scope, body: given }) => {
      const body = withoutMaskedCode(given);
      await check(project, body.function);
      return updateSubscription(changes, { ...by, id: params.subscriptionID, scope }, (row) => {
        requireFunctionRight(scope, { known: row.function, wanted: body.function });
        return withoutKey(scope, changedSubscriptionFields(row, body, limitsOf(context, project)), row.key);
      });
    },
  });
  subscription.remove({
    make: ({ by, params, scope }) => deleteSubscription(changes, { ...by, id: params.subscriptionID, scope }),
  });
  subscription.act('put', 'toggle_status', {
    id: 'toggleSubscriptionStatus',
    summary: 'Switch a subscription between active and inactive. An inactive one matches nothing.',
    status: 202,
    message: 'Subscription status changed',
    make: ({ by, params, scope }) => toggleSubscription(changes, { ...by, id: params.subscriptionID, scope }),
  });
  operationsOf('Subscriptions').post(app, `${path}/test_filter`, {
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

/** How subscriptions of a project are shown: with their endpoint and their source. Those of all of them are one read. */
async function subscriptionView(
  context: ReadContext,
  projectId: ProjectId,
  rows: readonly SubscriptionRow[],
): Promise<(row: SubscriptionRow) => Static<typeof Subscription>> {
  const { db, endpoints, sources, publicUrl, now } = context;
  const endpointIds = rows.map((row) => row.endpoint_id);
  const sourceIds = rows.map((row) => row.source_id);
  const cliIds = rows.filter(({ type }) => type === 'cli').map((row) => row.endpoint_id);
  const [endpointRows, devices, showEndpoint, sourceRows] = await Promise.all([
    endpoints.byIds(db, projectId, endpointIds),
    devicesByIds(db, projectId, cliIds),
    endpointView(context, projectId, endpointIds),
    sources.byIds(db, projectId, sourceIds),
  ]);
  return (row) => {
    const endpoint = endpointRows.get(row.endpoint_id);
    return toSubscription(row, {
      endpoint:
        endpoint === undefined || endpoint.delivery === 'device'
          ? null
          : shownOrNull(() => showEndpoint(endpoint)),
      device: deviceOf(endpoint, devices.get(row.endpoint_id), now()),
      source: sourceRows.get(row.source_id),
      publicUrl: publicUrl(),
    });
  };
}
