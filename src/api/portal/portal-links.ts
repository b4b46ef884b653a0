import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Author } from '../../control/config-changes.ts';
import {
  createPortalLink,
  refreshPortalToken,
  revokePortalLink,
  updatePortalLink,
} from '../../control/portal-link-changes.ts';
import { mintRefreshTokens, staticToken } from '../../control/portal-tokens.ts';
import { found, invalid } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { parsePageRequest, queryValue, queryValues } from '../../domain/pagination.ts';
import { usualValues } from '../../domain/resources/fields.ts';
import { type PortalLinkFields, portalLinkFields } from '../../domain/resources/portal-link-fields.ts';
import { Type } from '../../platform/type.ts';
import { type PortalLinkRow, portalLinks } from '../../store/config/portal-links.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import type { ApiContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery, parseTime, Repeated } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { updated } from '../http/updated.ts';
import { CreatePortalLink, PortalLink, toPortalLink, UpdatePortalLink } from './portal-link-schema.ts';

const path = '/api/v1/projects/:projectID/portal-links';
const onePath = `${path}/:portalLinkID` as const;
const route = operationsOf('Portal links');

export function registerPortalLinks(app: FastifyInstance, context: ApiContext): void {
  const { db } = context;
  const get = async (project: ProjectRow, id: string) =>
    found(await portalLinks.get(db, project.id, id), 'portal link', id);
  route.post(app, path, {
    id: 'createPortalLink',
    summary: 'Create a portal link for the endpoints of an owner.',
    body: CreatePortalLink,
    status: 201,
    message: 'Portal link created',
    data: PortalLink,
    access: 'admin',
    handle: async ({ by, body }) => shown(context, await create(context, by, body)),
    again: async ({ project }, { id }) => shown(context, await get(project, id)),
  });
  route.get(app, path, {
    id: 'listPortalLinks',
    summary: 'List portal links.',
    query: Type.Object({
      ...pageQuery,
      ownerId: Type.Optional(Type.String()),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
      q: Type.Optional(Type.String({ description: 'Another spelling of `name`.' })),
      endpointId: Repeated('Only links that open one of these endpoints.'),
    }),
    message: 'Portal links fetched',
    data: PageOf(PortalLink),
    access: 'admin',
    handle: async ({ project, query }) => {
      const list = {
        page: parsePageRequest(query),
        ownerId: queryValue(query, 'ownerId'),
        name: queryValue(query, 'name') ?? queryValue(query, 'q'),
        endpointIds: queryValues(query, 'endpointId'),
      };
      const page = await db.reading(project.id, (tx) => portalLinks.list(tx, project.id, list));
      return mapPage(page, await linkView(context, project.id, page.rows));
    },
  });
  route.get(app, onePath, {
    id: 'getPortalLink',
    summary: 'Get a portal link.',
    message: 'Portal link fetched',
    data: PortalLink,
    access: 'admin',
    handle: async ({ project, params }) => shown(context, await get(project, params.portalLinkID)),
  });
  route.put(app, onePath, {
    id: 'updatePortalLink',
    summary: 'Update a portal link. Fields that are not named keep their value.',
    body: UpdatePortalLink,
    status: 202,
    message: 'Portal link updated',
    data: PortalLink,
    access: 'admin',
    handle: async ({ by, params, body }) =>
      shown(context, await update(context, { ...by, id: params.portalLinkID }, body)),
  });
  route.put(app, `${onePath}/revoke`, {
    id: 'revokePortalLink',
    summary: 'Revoke a portal link and all its tokens.',
    acts: true,
    message: 'Portal link revoked',
    data: Nothing,
    access: 'admin',
    handle: ({ by, params }) => revokePortalLink(context.changes, { ...by, id: params.portalLinkID }),
  });
  route.get(app, `${onePath}/refresh_token`, {
    id: 'refreshPortalLinkToken',
    summary: 'Create a token for a link of type refresh_token. It is valid for an hour.',
    message: 'Portal link token made',
    data: Type.String(),
    access: 'admin',
    handle: async ({ project, by, params }) => {
      const link = await get(project, params.portalLinkID);
      return refreshPortalToken(context.changes, by, link);
    },
  });
}

async function shown(context: ApiContext, row: PortalLinkRow): Promise<Static<typeof PortalLink>> {
  return (await linkView(context, row.project_id, [row]))(row);
}

async function linkView(
  context: ApiContext,
  projectId: ProjectId,
  rows: PortalLinkRow[],
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

function create(
  context: ApiContext,
  by: Author,
  body: Static<typeof CreatePortalLink>,
): Promise<PortalLinkRow> {
  const fields = updated(usualValues(portalLinkFields), CreatePortalLink, {
    ...body,
    auth_type: body.auth_type || undefined,
    expires_at: expiry(context, body.expires_at),
  });
  return createPortalLink(context.changes, by, { fields, endpointIds: body.endpoints ?? [] });
}

function update(
  context: ApiContext,
  one: Author & { id: string },
  body: Static<typeof UpdatePortalLink>,
): Promise<PortalLinkRow> {
  const expiresAt = expiry(context, body.expires_at);
  const make = (known: PortalLinkRow): PortalLinkFields =>
    updated(known, UpdatePortalLink, {
      ...body,
      owner_id: body.owner_id || undefined,
      auth_type: body.auth_type || undefined,
      expires_at: expiresAt,
    });
  return updatePortalLink(context.changes, one, { make, endpointIds: body.endpoints ?? [] });
}

function expiry(context: ApiContext, given: string | null | undefined): number | null | undefined {
  if (given === undefined || given === null) return given;
  const ms = parseTime('expires_at', given);
  if (ms <= context.now()) throw invalid('expires_at', 'must be in the future');
  return ms;
}
