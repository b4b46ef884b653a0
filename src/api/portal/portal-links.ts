import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import {
  createPortalLink,
  mintRefreshTokens,
  refreshPortalToken,
  revokePortalLink,
  staticToken,
  updatePortalLink,
} from '../../control/portal-link-changes.ts';
import { found } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import { usualValues } from '../../domain/resources/fields.ts';
import { type PortalLinkFields, portalLinkFields } from '../../domain/resources/portal-link-fields.ts';
import { Type } from '../../platform/type.ts';
import { type PortalLinkRow, portalLinks } from '../../store/config/portal-links.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import type { ChangeContext, ReadContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { Nothing, parseFutureTime, Repeated } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { updated } from '../http/updated.ts';
import { CreatePortalLink, PortalLink, toPortalLink, UpdatePortalLink } from './portal-link-schema.ts';

const path = '/api/v1/projects/:projectID/portal-links';

export function registerPortalLinks(app: FastifyInstance, context: ChangeContext): void {
  const { db, changes } = context;
  const get = ({ project }: { project: ProjectRow }, id: string) => portalLinks.get(db, project.id, id);
  const link = crud(app, db, {
    tag: 'Portal links',
    noun: 'portal link',
    path,
    param: 'portalLinkID',
    data: PortalLink,
    access: { read: 'admin', change: 'admin' },
    get,
    view: ({ project }, rows) => linkView(context, project.id, rows),
  });
  link.create({
    summary: 'Create a portal link for the endpoints of an owner.',
    body: CreatePortalLink,
    make: async ({ by, body }) => {
      const fields = updated(usualValues(portalLinkFields), CreatePortalLink, given(context, body));
      return createPortalLink(changes, by, { fields, endpointIds: body.endpoints ?? [] });
    },
  });
  link.pages({
    query: {
      ownerId: Type.Optional(Type.String()),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
      q: Type.Optional(Type.String({ description: 'Another spelling of `name`.' })),
      endpointId: Repeated('Only links that open one of these endpoints.'),
    },
    filter: ({ query }) => ({
      ownerId: queryValue(query, 'ownerId'),
      name: queryValue(query, 'name') ?? queryValue(query, 'q'),
      endpointIds: queryValues(query, 'endpointId'),
    }),
    read: (tx, projectId, list) => portalLinks.list(tx, projectId, list),
  });
  link.get();
  link.update({
    body: UpdatePortalLink,
    make: async ({ by, params, body }) => {
      const wanted = { ...given(context, body), owner_id: body.owner_id || undefined };
      const make = (known: PortalLinkRow) => updated<PortalLinkFields>(known, UpdatePortalLink, wanted);
      const one = { ...by, id: params.portalLinkID };
      return updatePortalLink(changes, one, { make, endpointIds: body.endpoints ?? [] });
    },
  });
  const route = operationsOf('Portal links');
  route.put(app, `${path}/:portalLinkID/revoke`, {
    id: 'revokePortalLink',
    summary: 'Revoke a portal link and all its tokens.',
    acts: true,
    message: 'Portal link revoked',
    data: Nothing,
    access: 'admin',
    handle: ({ by, params }) => revokePortalLink(changes, { ...by, id: params.portalLinkID }),
  });
  route.get(app, `${path}/:portalLinkID/refresh_token`, {
    id: 'refreshPortalLinkToken',
    summary: 'Create a token for a link of type refresh_token. It is valid for an hour.',
    message: 'Portal link token made',
    data: Type.String(),
    access: 'admin',
    handle: async (call) => {
      const id = call.params.portalLinkID;
      return refreshPortalToken(changes, call.by, found(await get(call, id), 'portal link', id));
    },
  });
}

async function linkView(
  context: ReadContext,
  projectId: ProjectId,
  rows: readonly PortalLinkRow[],
): Promise<(row: PortalLinkRow) => Static<typeof PortalLink>> {
  const owners = await context.endpoints.byOwners(
    context.db,
    projectId,
    rows.map((row) => row.owner_id),
  );
  const shownIds = [...owners.values()].flat().map((row) => row.id);
  const showEndpoint = await endpointView(context, projectId, shownIds);
  const minted = await mintRefreshTokens(context.db, context.sealer, rows);
  return (row) =>
    toPortalLink(row, {
      endpoints: (owners.get(row.owner_id) ?? []).flatMap(
        (one) => shownOrNull(() => showEndpoint(one)) ?? [],
      ),
      token: staticToken(context, row),
      authKey: minted.get(row.id) ?? '',
      publicUrl: context.publicUrl(),
    });
}

/** The fields of a request, in the form of a row. */
function given<Body extends Static<typeof UpdatePortalLink>>({ now }: ReadContext, body: Body) {
  const { auth_type, expires_at: at } = body;
  const expires_at = typeof at === 'string' ? parseFutureTime('expires_at', at, now()) : at;
  return { ...body, auth_type: auth_type || undefined, expires_at };
}
