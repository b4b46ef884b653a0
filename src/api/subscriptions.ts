import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { parseGoDuration } from '../domain/duration.ts';
import { type EndpointScope, inScope, visible } from '../domain/endpoint-scope.ts';
import { AppError } from '../domain/errors.ts';
import { parsePageRequest, queryValue, queryValues } from '../domain/pagination.ts';
import { noConditions, type RetryConfig } from '../domain/subscription.ts';
import { subscriptionData } from '../routing/meta-event-data.ts';
import { changeConfig } from '../store/config-version.ts';
import type { ProjectRow } from '../store/projects.ts';
import {
  getSubscription,
  listSubscriptions,
  type SubscriptionFields,
  type SubscriptionRow,
  saveSubscription,
} from '../store/subscriptions.ts';
import type { ApiContext } from './context.ts';
import { found, invalid, mapPage, PageOf, pageQuery, Repeated } from './fields.ts';
import { registerOperation } from './operation.ts';
import { CreateSubscription, Subscription, toSubscription } from './subscription-schema.ts';

const path = '/api/v1/projects/:projectID/subscriptions';
const tag = 'Subscriptions';

export function registerSubscriptions(app: FastifyInstance, context: ApiContext): void {
  const { db, endpoints } = context;
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
    portal: 'write',
    handle: async ({ project, body, scope }) =>
      withEndpoint(context, await create(context, project, { ...body, scope })),
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
    portal: 'read',
    handle: async ({ project, query, scope }) => {
      const page = await listSubscriptions(db, project.id, {
        page: parsePageRequest(query),
        scope,
        endpointIds: queryValues(query, 'endpointId'),
        name: queryValue(query, 'name'),
      });
      const byId = await endpoints.byIds(
        db,
        page.rows.map((row) => row.endpoint_id),
      );
      return mapPage(page, (row) => toSubscription(row, byId.get(row.endpoint_id)));
    },
  });
  registerOperation(app, {
    method: 'GET',
    path: `${path}/:subscriptionID`,
    id: 'getSubscription',
    tag,
    summary: 'Fetches a subscription.',
    status: 200,
    message: 'Subscription fetched',
    data: Subscription,
    portal: 'read',
    handle: async ({ project, params, scope }) => {
      const id = params['subscriptionID'] ?? '';
      const row = visible(scope, await getSubscription(db, project.id, id), (found) => found.endpoint_id);
      return withEndpoint(context, found(row, 'subscription', id));
    },
  });
}

async function withEndpoint(context: ApiContext, row: SubscriptionRow): Promise<Static<typeof Subscription>> {
  return toSubscription(row, await context.endpoints.get(context.db, row.project_id, row.endpoint_id));
}

async function create(
  context: ApiContext,
  project: ProjectRow,
  body: Static<typeof CreateSubscription> & { scope: EndpointScope | undefined },
): Promise<SubscriptionRow> {
  const { db, ids, cache, endpoints } = context;
  const endpointId = body.endpoint_id || body.app_id;
  if (endpointId === undefined || endpointId === '') throw invalid('endpoint_id', 'is required');
  if (!inScope(body.scope, endpointId) || (await endpoints.get(db, project.id, endpointId)) === undefined) {
    throw new AppError('not_in_project', { field: 'endpoint_id', resource: 'endpoint', id: endpointId });
  }
  const fields = subscriptionFields(body, endpointId);
  const row = await changeConfig(db, project.id, async (tx, version) => {
    const saved = await saveSubscription(tx, { id: ids.next(), projectId: project.id, version, fields });
    const data = () => subscriptionData(saved);
    await context.metaEvents.record(tx, project, { type: 'subscription.created', data });
    return saved;
  });
  await cache.refresh(project.id);
  return row;
}

function subscriptionFields(body: Static<typeof CreateSubscription>, endpointId: string): SubscriptionFields {
  const eventTypes = body.filter_config?.event_types ?? [];
  return {
    name: body.name,
    type: 'api',
    status: 'active',
    endpoint_id: endpointId,
    source_id: '',
    event_types: eventTypes.length > 0 ? [...new Set(eventTypes)] : ['*'],
    filter: noConditions(),
    function: body.function ?? '',
    delivery_mode: body.delivery_mode || 'at_least_once',
    alert_config: body.alert_config ?? null,
    rate_limit_config: body.rate_limit_config ?? null,
    retry_config: retryConfig(body.retry_config),
  };
}

function retryConfig(given: Static<typeof CreateSubscription>['retry_config']): RetryConfig | null {
  if (given === undefined) return null;
  const fromText = given.duration ? parseGoDuration(given.duration) : null;
  if (given.duration && (fromText === null || fromText < 0))
    throw invalid('retry_config.duration', 'must be a duration such as 10s or 1h3m');
  const duration = fromText === null ? (given.interval_seconds ?? 0) : Math.round(fromText / 1000);
  return { type: given.type ?? 'linear', duration, retry_count: given.retry_count ?? 0 };
}
