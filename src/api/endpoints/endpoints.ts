import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import {
  activateEndpoint,
  deleteEndpoint,
  rollSecret,
  togglePause,
  updateEndpoint,
} from '../../control/endpoint-changes.ts';
import { owned } from '../../domain/endpoint-scope.ts';
import { AppError, badQuery, found } from '../../domain/errors.ts';
import { asId } from '../../domain/ids.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { Call } from '../http/call.ts';
import type { ApiContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { Repeated } from '../http/fields.ts';
import { endpointChanges } from '../http/versions/older-endpoints.ts';
import { beginChallenge, verifyNow } from './challenge.ts';
import {
  changedEndpoint,
  checkEndpoint,
  requireBrokerRight,
  requireOwnCredentials,
  warnOfOwnUrl,
  withConsent,
} from './endpoint-input.ts';
import { Endpoint, ExpireSecret, UpdateEndpoint } from './endpoint-schema.ts';
import { endpointView } from './endpoint-view.ts';

const path = '/api/v1/projects/:projectID/endpoints';

export function registerEndpoints(app: FastifyInstance, context: ApiContext): void {
  const { db, endpoints, changes } = context;
  const endpoint = crud(app, db, {
    tag: 'Endpoints',
    noun: 'endpoint',
    path,
    param: 'endpointID',
    data: Endpoint,
    access: { read: 'viewer', change: 'developer' },
    isOpenToPortals: true,
    dryRun: true,
    changes: endpointChanges,
    get: async ({ project, scope }, id) => owned(scope, await endpoints.get(db, project.id, asId(id))),
    view: ({ project }, rows) =>
      endpointView(
        context,
        project.id,
        rows.map(({ id }) => id),
      ),
  });
  endpoint.pages({
    query: {
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      ownerId: Type.Optional(Type.String()),
      metadata: Repeated('A text of the metadata, as `name:value`.'),
    },
    filter: ({ query, scope }) => ({
      scope,
      name: queryValue(query, 'q'),
      ownerId: queryValue(query, 'ownerId'),
      metadata: scope === undefined ? metadataFilter(queryValues(query, 'metadata')) : undefined,
    }),
    read: (tx, projectId, list) => endpoints.list(tx, projectId, list),
  });
  endpoint.get();
  endpoint.update({ body: UpdateEndpoint, make: (call) => update(context, call) });
  endpoint.remove({
    summary: 'Delete an endpoint and its subscriptions.',
    make: ({ by, params, scope }) => deleteEndpoint(changes, { ...by, id: params.endpointID, scope }),
  });
  endpoint.act('put', 'pause', {
    id: 'pauseEndpoint',
    summary: 'Pause an active endpoint, or resume a paused one. Deliveries wait while it is paused.',
    status: 202,
    message: 'Endpoint status changed',
    make: ({ by, params, scope }) => togglePause(changes, { ...by, id: params.endpointID, scope }),
  });
  endpoint.act('post', 'activate', {
    id: 'activateEndpoint',
    summary: 'Activate an inactive or paused endpoint.',
    status: 202,
    message: 'Endpoint activated',
    make: ({ by, params, scope }) => activateEndpoint(changes, { ...by, id: params.endpointID, scope }),
  });
  endpoint.act('post', 'verify', {
    id: 'verifyEndpoint',
    summary: 'Send the challenge of a pending endpoint again. It is active once it has echoed it.',
    status: 202,
    message: 'Endpoint verified',
    changes: [],
    make: ({ project, by, params, scope }) =>
      verifyNow(context, { ...by, id: params.endpointID, scope }, project.config),
  });
  endpoint.act('put', 'expire_secret', {
    id: 'expireSecret',
    summary: 'Roll the signing secret. The old secret keeps signing until it expires.',
    body: ExpireSecret,
    message: 'Endpoint secret rolled',
    portal: 'roll_secrets',
    changes: [],
    make: ({ by, params, scope, body }) => {
      const wanted = { seconds: body.expiration ?? 0, value: body.secret };
      return rollSecret(changes, { ...by, id: params.endpointID, scope }, wanted);
    },
  });
}

async function update(
  context: ApiContext,
  call: Call<Static<typeof UpdateEndpoint>, `${typeof path}/:endpointID`>,
): Promise<EndpointRow> {
  const { project, by, params, scope, body } = call;
  await checkEndpoint(context, project.config, body);
  warnOfOwnUrl(context, body, call);
  if (scope?.canSeeSecrets === false && body.secret)
    throw new AppError('portal_forbidden', { what: 'another secret' });
  requireBrokerRight(scope, project.config, body);
  const one = { ...by, id: params.endpointID, scope };
  const stored = await context.endpoints.get(context.db, project.id, one.id);
  // Nothing is asked for a caller who may not change it.
  requireOwnCredentials(scope, found(owned(scope, stored), 'endpoint', one.id), body);
  const input = by.isDryRun ? body : await withConsent(context, project.config, body, stored);
  const row = await updateEndpoint(context.changes, one, (known) => {
    requireOwnCredentials(scope, known, body);
    return {
      ...changedEndpoint(context, known, input),
      ...(scope !== undefined && ownersFields(known)),
    };
  });
  if (body.url !== undefined || body.verification !== undefined)
    beginChallenge(context, { row, by: one, config: project.config });
  return row;
}

/** Fields of an endpoint that the holder of a portal link cannot set. */
const ownersFields = ({ owner_id, key, metadata, expires_at, verification }: EndpointRow) => ({
  owner_id,
  key,
  metadata,
  expires_at,
  verification,
});

/** Undefined: none is given. */
function metadataFilter(given: readonly string[]): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf(':');
      if (at < 1) throw badQuery('metadata', 'must be name:value');
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
