import type { FastifyInstance } from 'fastify';
import { OAuth2 } from '../../domain/config/endpoint-authentication.ts';
import { inScope } from '../../domain/endpoint-scope.ts';
import { queryValues } from '../../domain/pagination.ts';
import { nullable, Type } from '../../platform/type.ts';
import { countDeliveriesByEndpoint } from '../../store/history/event-deliveries.ts';
import type { SendContext } from '../http/context.ts';
import { dateQuery, dateRange, iso, NullableTime, Repeated } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { checkedOAuth2, checkSigningKey } from './endpoint-credentials.ts';

const path = '/api/v1/projects/:projectID/endpoints';
const route = operationsOf('Endpoints');
const MAX_IDS = 100;

export const PeriodFailureRate = Type.Object({
  uid: Type.String(),
  period_failure_rate: nullable(
    Type.Number(),
    'Percentage of ended deliveries that failed; null if none has ended.',
  ),
  success_count: Type.Integer(),
  failure_count: Type.Integer(),
  retry_count: Type.Integer({ description: 'Deliveries that failed and wait for their next attempt.' }),
});

export const SourceAddresses = Type.Object({
  addresses: Type.Array(Type.String(), {
    description: 'Addresses and CIDR ranges. Empty: the operator names none.',
  }),
});

const TokenTest = Type.Object({
  success: Type.Boolean(),
  access_token: Type.Optional(Type.String()),
  token_type: Type.Optional(Type.String()),
  expires_at: NullableTime,
  error: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
});

/** Read-only checks of endpoints: their failure rates, and whether their token server issues a token. */
export function registerEndpointChecks(app: FastifyInstance, context: SendContext): void {
  route.get(app, `${path}/period-failure-rates`, {
    id: 'getPeriodFailureRates',
    summary: 'Count the deliveries of up to 100 endpoints between two dates by outcome.',
    query: Type.Object({
      endpointId: Repeated('The endpoints.'),
      ...dateQuery,
    }),
    message: 'Failure rates fetched',
    data: Type.Array(PeriodFailureRate),
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const { fromMs, toMs } = dateRange(query);
      const { endpoints } = await context.cache.get(project.id);
      const ids = [...new Set(queryValues(query, 'endpointId'))]
        .filter((id) => endpoints.has(id) && inScope(scope, id))
        .slice(0, MAX_IDS);
      const rows = await context.db.reading(project.id, (tx) =>
        countDeliveriesByEndpoint(tx, project.id, {
          fromMs,
          toMs,
          endpointIds: ids,
          eventTypes: scope?.eventTypes ?? [],
        }),
      );
      return ids.map((uid) => {
        const count = (state: string) =>
          rows.find(({ endpoint_id, status }) => endpoint_id === uid && status === state)?.count ?? 0;
        const [successes, failures] = [count('Success'), count('Failure')];
        const ended = successes + failures;
        return {
          uid,
          period_failure_rate: ended === 0 ? null : (100 * failures) / ended,
          success_count: successes,
          failure_count: failures,
          retry_count: count('Retry'),
        };
      });
    },
  });
  route.get(app, `${path}/source-addresses`, {
    id: 'getSourceAddresses',
    summary: 'List the addresses that deliveries come from, for the firewalls of receivers.',
    message: 'Addresses fetched',
    data: SourceAddresses,
    portal: 'anyone',
    access: 'viewer',
    handle: async () => ({ addresses: [...context.sourceAddresses] }),
  });
  route.post(app, `${path}/oauth2/test`, {
    id: 'testOAuth2',
    summary: 'Request a token from the token server and report the result.',
    body: Type.Object({ oauth2: OAuth2 }),
    message: 'Token server asked',
    data: TokenTest,
    access: 'developer',
    handle: async ({ body }) => {
      await checkSigningKey('oauth2', body.oauth2);
      const result = await context.fetchToken(checkedOAuth2(context, 'oauth2', body.oauth2));
      if (result.kind === 'failed') {
        return { success: false, expires_at: null, error: result.message, message: 'No token was given.' };
      }
      const [scheme = '', token = ''] = result.authorization.split(' ');
      return {
        success: true,
        access_token: token,
        token_type: scheme,
        expires_at: iso(context.now() + result.lifetimeMs),
        message: 'A token was given.',
      };
    },
  });
}
