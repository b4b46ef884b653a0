import type { FastifyInstance } from 'fastify';
import {
  activateEndpoint,
  deleteEndpoint,
  rollSecret,
  togglePause,
  updateEndpoint,
} from '../../control/endpoint-changes.ts';
import { type EndpointScope, owned } from '../../domain/endpoint-scope.ts';
import { AppError, badQuery, found } from '../../domain/errors.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import { parsePageRequest, queryValue, queryValues } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery, Repeated } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
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
const onePath = `${path}/:endpointID` as const;
const route = operationsOf('Endpoints');

export function registerEndpoints(app: FastifyInstance, context: ApiContext): void {
  const { db, endpoints, changes } = context;
  const show = async (row: EndpointRow) => (await endpointView(context, row.project_id, [row.id]))(row);
  const get = async (projectId: ProjectId, scope: EndpointScope | undefined, id: string) =>
    show(found(owned(scope, await endpoints.get(db, projectId, asId(id))), 'endpoint', id));
  route.get(app, path, {
    id: 'listEndpoints',
    summary: 'List endpoints.',
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the name.' })),
      ownerId: Type.Optional(Type.String()),
      metadata: Repeated('A text of the metadata, as `name:value`.'),
    }),
    message: 'Endpoints fetched',
    data: PageOf(Endpoint),
    portal: 'read',
    changes: endpointChanges,
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const list = {
        page: parsePageRequest(query),
        scope,
        name: queryValue(query, 'q'),
        ownerId: queryValue(query, 'ownerId'),
        metadata: scope === undefined ? metadataFilter(queryValues(query, 'metadata')) : undefined,
      };
      const page = await db.reading(project.id, (tx) => endpoints.list(tx, project.id, list));
      const ids = page.rows.map((row) => row.id);
      return mapPage(page, await endpointView(context, project.id, ids));
    },
  });
  route.get(app, onePath, {
    id: 'getEndpoint',
    summary: 'Get an endpoint.',
    message: 'Endpoint fetched',
    data: Endpoint,
    portal: 'read',
    changes: endpointChanges,
    access: 'viewer',
    handle: ({ project, params, scope }) => get(project.id, scope, params.endpointID),
  });
  route.put(app, onePath, {
    id: 'updateEndpoint',
    summary: 'Update an endpoint. Fields that are not named keep their value.',
    body: UpdateEndpoint,
    status: 202,
    message: 'Endpoint updated',
    data: Endpoint,
    portal: 'manage',
    changes: endpointChanges,
    dryRun: true,
    access: 'developer',
    handle: async ({ project, by, params, scope, body }, request) => {
      await checkEndpoint(context, project.config, body);
      warnOfOwnUrl(context, body, request);
      if (scope?.canSeeSecrets === false && body.secret)
        throw new AppError('portal_forbidden', { what: 'another secret' });
      requireBrokerRight(scope, project.config, body);
      const one = { ...by, id: params.endpointID, scope };
      const stored = await endpoints.get(db, project.id, asId(params.endpointID));
      // Nothing is asked for a caller who may not change it.
      requireOwnCredentials(scope, found(owned(scope, stored), 'endpoint', params.endpointID), body);
      const input = by.isDryRun ? body : await withConsent(context, project.config, body, stored);
      const row = await updateEndpoint(changes, one, (known) => {
        requireOwnCredentials(scope, known, body);
        return {
          ...changedEndpoint(context, known, input),
          ...(scope !== undefined && ownersFields(known)),
        };
      });
      if (body.url !== undefined || body.verification !== undefined)
        beginChallenge(context, { row, by: one, config: project.config });
      return show(row);
    },
  });
  route.delete(app, onePath, {
    id: 'deleteEndpoint',
    summary: 'Delete an endpoint and its subscriptions.',
    message: 'Endpoint deleted',
    data: Nothing,
    portal: 'manage',
    access: 'developer',
    handle: ({ by, params, scope }) => deleteEndpoint(changes, { ...by, id: params.endpointID, scope }),
  });
  route.put(app, `${onePath}/pause`, {
    id: 'pauseEndpoint',
    summary: 'Pause an active endpoint, or resume a paused one. Deliveries wait while it is paused.',
    status: 202,
    message: 'Endpoint status changed',
    data: Endpoint,
    portal: 'manage',
    changes: endpointChanges,
    access: 'developer',
    handle: async ({ by, params, scope }) =>
      show(await togglePause(changes, { ...by, id: params.endpointID, scope })),
  });
  route.post(app, `${onePath}/activate`, {
    id: 'activateEndpoint',
    summary: 'Activate an inactive or paused endpoint.',
    status: 202,
    message: 'Endpoint activated',
    data: Endpoint,
    portal: 'manage',
    changes: endpointChanges,
    access: 'developer',
    handle: async ({ by, params, scope }) =>
      show(await activateEndpoint(changes, { ...by, id: params.endpointID, scope })),
  });
  route.post(app, `${onePath}/verify`, {
    id: 'verifyEndpoint',
    summary: 'Send the challenge of a pending endpoint again. It is active once it has echoed it.',
    status: 202,
    message: 'Endpoint verified',
    data: Endpoint,
    portal: 'manage',
    access: 'developer',
    handle: async ({ project, by, params, scope }) =>
      show(await verifyNow(context, { ...by, id: params.endpointID, scope }, project.config)),
  });
  route.put(app, `${onePath}/expire_secret`, {
    id: 'expireSecret',
    summary: 'Roll the signing secret. The old secret keeps signing until it expires.',
    body: ExpireSecret,
    message: 'Endpoint secret rolled',
    data: Endpoint,
    portal: 'roll_secrets',
    access: 'developer',
    handle: async ({ by, params, scope, body }) => {
      const wanted = { seconds: body.expiration ?? 0, value: body.secret };
      return show(await rollSecret(changes, { ...by, id: params.endpointID, scope }, wanted));
    },
  });
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
