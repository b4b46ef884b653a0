import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { createEndpoint } from '../../control/endpoint-changes.ts';
import type { NewSubscription } from '../../control/subscription-changes.ts';
import { owned, requireFunctionRight } from '../../domain/endpoint-scope.ts';
import { found, within } from '../../domain/errors.ts';
import { asId } from '../../domain/ids.ts';
import { Text, Type } from '../../platform/type.ts';
import { beginChallenge } from '../endpoints/challenge.ts';
import {
  checkEndpoint,
  createdEndpoint,
  requireBrokerRight,
  warnOfOwnUrl,
  withConsent,
} from '../endpoints/endpoint-input.ts';
import { CreateEndpoint, Endpoint } from '../endpoints/endpoint-schema.ts';
import { endpointView, showEndpoint } from '../endpoints/endpoint-view.ts';
import type { Call } from '../http/call.ts';
import { checkSubscriptionFunction } from '../http/check-settings.ts';
import type { ApiContext, SendContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { newEndpointChanges } from '../http/versions/older-endpoints.ts';
import { filterWarnings } from './filter-conditions.ts';
import { limitsOf, newSubscriptionFields } from './subscription-input.ts';
import { CreateSubscription } from './subscription-schema.ts';

const { endpoint_id: _id, app_id: _appId, ...subscriptionFields } = CreateSubscription.properties;
export const SubscriptionOfEndpoint = Type.Object({
  ...subscriptionFields,
  name: Type.Optional(Text(256, 'Name for people. Default: that of the endpoint.')),
});

export const CreateEndpointWithSubscriptions = Type.Object({
  ...CreateEndpoint.properties,
  subscriptions: Type.Optional(
    Type.Array(SubscriptionOfEndpoint, {
      maxItems: 100,
      description: 'Subscriptions of the new endpoint. If one is refused, nothing is created.',
    }),
  ),
});

/** Fields that the owner of the project sets, as a portal link makes them. */
const OWNERS = { key: '', metadata: {}, expires_at: null, verification: 'none' as const };

type Body = Static<typeof CreateEndpointWithSubscriptions>;

/** An endpoint and its subscriptions in one commit. */
export function registerNewEndpoint(app: FastifyInstance, context: ApiContext): void {
  operationsOf('Endpoints').post(app, '/api/v1/projects/:projectID/endpoints', {
    id: 'createEndpoint',
    summary: 'Create an endpoint, with its subscriptions.',
    body: CreateEndpointWithSubscriptions,
    status: 201,
    message: 'Endpoint created',
    data: Endpoint,
    warn: ({ subscriptions = [] }) =>
      subscriptions.flatMap(({ filter_config }, index) =>
        filterWarnings(filter_config?.filter, `subscriptions.${index}.filter_config.filter`),
      ),
    portal: 'manage',
    changes: newEndpointChanges,
    dryRun: true,
    access: 'developer',
    handle: async (call) => {
      const { project, by, scope, body } = call;
      await checkEndpoint(context, project.config, body);
      warnOfOwnUrl(context, body, call);
      requireBrokerRight(scope, project.config, body);
      const input = by.isDryRun ? body : await withConsent(context, project.config, body);
      const made = createdEndpoint(context, input);
      // A key belongs to the file of the project, so a portal link cannot claim one.
      if (scope !== undefined) Object.assign(made, { ...OWNERS, owner_id: scope.ownerId });
      const subscriptions = await subscriptionsOf(context, call, made);
      const row = await createEndpoint(context.changes, by, { made, subscriptions, scope });
      beginChallenge(context, { row, by: { ...by, id: row.id, scope }, config: project.config });
      return showEndpoint(row, { settings: project.config.circuit_breaker, nowMs: context.now() });
    },
    again: async ({ project, scope }, { id }) => {
      const row = owned(scope, await context.endpoints.get(context.db, project.id, asId(id)));
      return (await endpointView(context, project.id, [asId(id)]))(found(row, 'endpoint', id));
    },
  });
}

/** The subscriptions that a call wants, each checked. A refusal names its place in the list. */
async function subscriptionsOf(
  context: SendContext,
  { project, scope, body }: Pick<Call<Body>, 'project' | 'scope' | 'body'>,
  endpoint: { id: string; name: string },
): Promise<NewSubscription[]> {
  const made: NewSubscription[] = [];
  for (const [index, one] of (body.subscriptions ?? []).entries())
    await within(`subscriptions.${index}`, async () => {
      await checkSubscriptionFunction(context, { projectId: project.id, code: one.function ?? '' });
      requireFunctionRight(scope, { known: '', wanted: one.function });
      const input = { ...one, name: one.name || endpoint.name, endpoint_id: endpoint.id };
      const fields = newSubscriptionFields(input, limitsOf(context, project));
      made.push({ id: context.ids.next(), fields: scope === undefined ? fields : { ...fields, key: '' } });
    });
  return made;
}
