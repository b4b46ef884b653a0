import type { FastifyInstance, FastifyReply } from 'fastify';
import { Admission } from '../../domain/admission.ts';
import { type EndpointScope, owned } from '../../domain/endpoint-scope.ts';
import { AppError, found, wrongState } from '../../domain/errors.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import { type PulledDelivery, resultStates } from '../../domain/pull-service.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { callerIdOf } from '../http/access/caller.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { iso, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { MASK } from '../http/portal-view.ts';

/** Pulls at a time. A consumer with more workers than this asks for more deliveries a call. */
const PULLS = { what: 'pulls', caller: 200, endpoint: 100, project: 400, node: 2_000 };

const path = '/api/v1/projects/:projectID/endpoints/:endpointID/pull';
const route = operationsOf('Endpoints');

export const MAX_PULLED = 100;
const DEFAULT_PULLED = 10;
const DEFAULT_LEASE_SECONDS = 30;

const PullBody = Type.Object({
  max: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PULLED, description: 'Deliveries at most; 10 by default.' }),
  ),
  wait_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 30, description: 'How long to wait for the first; 0 by default.' }),
  ),
  lease_seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 43_200, description: 'Time for the results; 30 by default.' }),
  ),
});

/** Not a record of texts, because portals see header values of records masked. A consumer needs them, but for secrets. */
const RequestHeaders = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'The headers that a push would have had, with its signatures.',
});

const Pulled = Type.Object({
  deliveries: Type.Array(
    Type.Object({
      uid: Type.String(),
      lease: Type.String({ description: 'Send it back with the result.' }),
      event_id: Type.String(),
      event_type: Type.String(),
      attempt: Type.Integer({ description: 'From 1.' }),
      leased_until: Time,
      url_query_params: Type.String({ description: 'The query string that a push has in its URL.' }),
      headers: RequestHeaders,
      body: Type.String({ description: 'The exact bytes, in base64.' }),
    }),
  ),
});

const ResultsBody = Type.Object({
  results: Type.Array(
    Type.Object({
      uid: RequiredText(64),
      lease: RequiredText(128),
      ok: Type.Boolean(),
      reason: Type.Optional(Text(1024, 'Why it failed.')),
    }),
    { minItems: 1, maxItems: MAX_PULLED },
  ),
});

const Results = Type.Object({
  results: Type.Array(Type.Object({ uid: Type.String(), state: oneOf(resultStates) })),
});

/** Pull endpoints: a consumer takes deliveries under a lease and reports the results. See docs/pull.md. */
export function registerPull(app: FastifyInstance, context: SendContext): void {
  const pulls = new Admission(PULLS);
  route.post(app, path, {
    id: 'pullEndpoint',
    summary: 'Take deliveries of a pull endpoint under a lease.',
    body: PullBody,
    message: 'Deliveries taken',
    data: Pulled,
    portal: 'read',
    access: 'developer',
    handle: async ({ project, params, scope, body, caller }, _request, reply) => {
      const endpoint = await pullEndpoint(context, project.id, { id: params.endpointID, scope });
      const request = {
        projectId: project.id,
        endpointId: endpoint.id,
        max: body.max ?? DEFAULT_PULLED,
        waitMs: (body.wait_seconds ?? 0) * 1000,
        leaseSeconds: body.lease_seconds ?? DEFAULT_LEASE_SECONDS,
      };
      const leave = pulls.enter({ ...request, callerId: callerIdOf(caller) });
      try {
        const deliveries = await context.pull.pull(request, goneSignal(reply));
        return { deliveries: deliveries.map((delivery) => toPulled(delivery, scope)) };
      } finally {
        leave();
      }
    },
  });
  route.post(app, `${path}/results`, {
    id: 'reportResults',
    summary: 'Report the results of deliveries that were taken.',
    body: ResultsBody,
    message: 'Results recorded',
    data: Results,
    portal: 'read',
    access: 'developer',
    handle: async ({ project, params, scope, body }) => {
      const known = await context.endpoints.get(context.db, project.id, params.endpointID);
      const endpoint = found(owned(scope, known), 'endpoint', params.endpointID);
      const results = body.results.map(({ uid, lease, ok, reason = '' }) => ({
        id: uid,
        lease,
        ok,
        reason,
        answer: null,
      }));
      const states = await context.pull.report({ projectId: project.id, endpointId: endpoint.id }, results);
      return { results: results.map(({ id }, n) => ({ uid: id, state: states[n] ?? 'unknown' })) };
    },
  });
}

async function pullEndpoint(
  { db, endpoints }: ReadContext,
  projectId: ProjectId,
  { id, scope }: { id: EndpointId; scope: EndpointScope | undefined },
): Promise<EndpointRow> {
  const endpoint = found(owned(scope, await endpoints.get(db, projectId, id)), 'endpoint', id);
  if (scope !== undefined && scope.eventTypes.length > 0)
    throw new AppError('portal_forbidden', { what: 'pulling, because it is limited to event types' });
  if (endpoint.delivery !== 'pull')
    throw wrongState('The endpoint is not a pull endpoint; set delivery to pull.');
  return endpoint;
}

/** A delivery as consumers and devices get it. A link that may not see secrets gets only the names of such headers. */
export const toPulled = (delivery: PulledDelivery, scope?: EndpointScope) => ({
  uid: delivery.id,
  lease: delivery.lease,
  event_id: delivery.eventId,
  event_type: delivery.eventType,
  attempt: delivery.attempt,
  leased_until: iso(delivery.leasedUntilMs),
  url_query_params: delivery.urlQueryParams,
  headers: scope?.canSeeSecrets === false ? withoutSecrets(delivery) : delivery.headers,
  body: delivery.body.toString('base64'),
});

const withoutSecrets = ({ headers, secretHeaders }: PulledDelivery): Record<string, string> => ({
  ...headers,
  ...Object.fromEntries(secretHeaders.map((name) => [name, MASK])),
});

/** Fires when the caller has gone, so that nothing more is handed out. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  return gone.signal;
}
