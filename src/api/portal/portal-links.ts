import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Actor, type AuditNote, changeOf } from '../../domain/audit.ts';
import { AppError } from '../../domain/errors.ts';
import { parsePageRequest, queryValue, queryValues } from '../../domain/pagination.ts';
import { audited } from '../../store/config/audit-entries.ts';
import { type ConfigTx, changeConfig } from '../../store/config/config-version.ts';
import {
  getPortalLink,
  getPortalLinkForUpdate,
  insertPortalLink,
  listPortalLinks,
  type PortalLinkFields,
  type PortalLinkRow,
  revokePortalLink,
  updatePortalLink,
} from '../../store/config/portal-links.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import type { ApiContext } from '../http/context.ts';
import { endingAccess } from '../http/end-access.ts';
import { found, invalid, mapPage, Nothing, PageOf, pageQuery, parseTime, Repeated } from '../http/fields.ts';
import { registerOperation } from '../http/operation.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { updated } from '../http/updated.ts';
import { CreatePortalLink, PortalLink, toPortalLink, UpdatePortalLink } from './portal-link-schema.ts';
import { mintRefreshTokens, newStaticToken, staticToken } from './portal-tokens.ts';

const path = '/api/v1/projects/:projectID/portal-links';
const onePath = `${path}/:portalLinkID` as const;
const tag = 'Portal links';

export function registerPortalLinks(app: FastifyInstance, context: ApiContext): void {
  const { db } = context;
  const get = async (project: ProjectRow, id: string) =>
    found(await getPortalLink(db, project.id, id), 'portal link', id);
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createPortalLink',
    tag,
    summary: 'Create a portal link for the endpoints of an owner.',
    body: CreatePortalLink,
    status: 201,
    message: 'Portal link created',
    data: PortalLink,
    handle: async (call) => shown(context, await create(context, call, call.body)),
  });
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listPortalLinks',
    tag,
    summary: 'List portal links.',
    query: Type.Object({
      ...pageQuery,
      ownerId: Type.Optional(Type.String()),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
      endpointId: Repeated('Only links that open one of these endpoints.'),
    }),
    status: 200,
    message: 'Portal links fetched',
    data: PageOf(PortalLink),
    handle: async ({ project, query }) => {
      const page = await listPortalLinks(db, project.id, {
        page: parsePageRequest(query),
        ownerId: queryValue(query, 'ownerId'),
        name: queryValue(query, 'name') ?? queryValue(query, 'q'),
        endpointIds: queryValues(query, 'endpointId'),
      });
      return mapPage(page, await linkView(context, project.id, page.rows));
    },
  });
  registerOperation(app, {
    method: 'GET',
    path: onePath,
    id: 'getPortalLink',
    tag,
    summary: 'Get a portal link.',
    status: 200,
    message: 'Portal link fetched',
    data: PortalLink,
    handle: async ({ project, params }) => shown(context, await get(project, params.portalLinkID)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: onePath,
    id: 'updatePortalLink',
    tag,
    summary: 'Update a portal link. Fields that are not named keep their value.',
    body: UpdatePortalLink,
    status: 202,
    message: 'Portal link updated',
    data: PortalLink,
    handle: async (call) =>
      shown(
        context,
        await endingAccess(context, call.project.id, () =>
          update(context, call, { id: call.params.portalLinkID, body: call.body }),
        ),
      ),
  });
  registerOperation(app, {
    method: 'PUT',
    path: `${onePath}/revoke`,
    id: 'revokePortalLink',
    tag,
    summary: 'Revoke a portal link and all its tokens.',
    status: 200,
    message: 'Portal link revoked',
    data: Nothing,
    handle: async ({ project, params, actor }) => {
      const id = params.portalLinkID;
      return endingAccess(context, project.id, () =>
        audited(context, { projectId: project.id, actor }, async (tx) => {
          const link = found(await revokePortalLink(tx, project.id, id), 'portal link', id);
          return { result: null, audit: [changeOf('portal_link.revoked', link, null)] };
        }),
      );
    },
  });
  registerOperation(app, {
    method: 'GET',
    path: `${onePath}/refresh_token`,
    id: 'refreshPortalLinkToken',
    tag,
    summary: 'Create a token for a link of type refresh_token. It is valid for an hour.',
    status: 200,
    message: 'Portal link token made',
    data: Type.String(),
    handle: async ({ project, params, actor }) => {
      const link = await get(project, params.portalLinkID);
      return audited(context, { projectId: project.id, actor }, async (tx) => {
        const token = (await mintRefreshTokens(tx, context.sealer, [link])).get(link.id);
        if (token === undefined)
          throw new AppError('wrong_state', { detail: 'A link of type static_token has no refresh tokens.' });
        return { result: token, audit: [changeOf('portal_link.token_made', link, link)] };
      });
    },
  });
}

async function shown(context: ApiContext, row: PortalLinkRow): Promise<Static<typeof PortalLink>> {
  return (await linkView(context, row.project_id, [row]))(row);
}

async function linkView(
  context: ApiContext,
  projectId: string,
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

interface By {
  project: ProjectRow;
  actor: Actor;
}

async function create(
  context: ApiContext,
  { project, actor }: By,
  body: Static<typeof CreatePortalLink>,
): Promise<PortalLinkRow> {
  const { ids, cache } = context;
  const id = ids.next();
  const fields: PortalLinkFields = {
    name: body.name,
    owner_id: body.owner_id,
    can_manage_endpoint: body.can_manage_endpoint ?? false,
    can_create_events: body.can_create_events ?? false,
    event_types: body.event_types ?? [],
    auth_type: body.auth_type || 'static_token',
    expires_at: expiry(context, body.expires_at) ?? null,
  };
  const row = await changeConfig(context, { projectId: project.id, actor }, async (tx, version) => {
    const gift = { project, version, ownerId: fields.owner_id, ids: body.endpoints ?? [] };
    const given = await giveToOwner(context, tx, gift);
    const token = newStaticToken(context, id);
    const result = await insertPortalLink(tx, { id, projectId: project.id, fields, ...token });
    return { result, audit: [changeOf('portal_link.created', null, result), ...given] };
  });
  await cache.refresh(project.id);
  return row;
}

async function update(
  context: ApiContext,
  { project, actor }: By,
  { id, body }: { id: string; body: Static<typeof UpdatePortalLink> },
): Promise<PortalLinkRow> {
  const expiresAt = expiry(context, body.expires_at);
  const row = await changeConfig(context, { projectId: project.id, actor }, async (tx, version) => {
    const known = found(await getPortalLinkForUpdate(tx, project.id, id), 'portal link', id);
    const fields: PortalLinkFields = updated(known, UpdatePortalLink, {
      ...body,
      owner_id: body.owner_id || undefined,
      auth_type: body.auth_type || undefined,
      expires_at: expiresAt,
    });
    const gift = { project, version, ownerId: fields.owner_id, ids: body.endpoints ?? [] };
    const given = await giveToOwner(context, tx, gift);
    const result = await updatePortalLink(tx, { id, projectId: project.id, fields });
    return { result, audit: [changeOf('portal_link.updated', known, result), ...given] };
  });
  await context.cache.refresh(project.id);
  return row;
}

function expiry(context: ApiContext, given: string | null | undefined): number | null | undefined {
  if (given === undefined || given === null) return given;
  const ms = parseTime('expires_at', given);
  if (ms <= context.now()) throw invalid('expires_at', 'must lie in the future');
  return ms;
}

/** Endpoints without an owner become the link's; those of another owner are refused. */
async function giveToOwner(
  { endpoints }: ApiContext,
  tx: ConfigTx,
  gift: { project: ProjectRow; version: number; ownerId: string; ids: readonly string[] },
): Promise<AuditNote[]> {
  const { project, version, ownerId } = gift;
  const given: AuditNote[] = [];
  for (const id of [...new Set(gift.ids)].sort()) {
    const row = await endpoints.getForUpdate(tx, project.id, id);
    if (row === undefined)
      throw new AppError('not_in_project', { field: 'endpoints', resource: 'endpoint', id });
    if (row.owner_id === ownerId) continue;
    if (row.owner_id !== '')
      throw invalid('endpoints', `endpoint ${id} already belongs to owner ${row.owner_id}`);
    const fields = { ...row, owner_id: ownerId };
    const saved = await endpoints.save(tx, {
      id,
      projectId: project.id,
      version,
      fields,
      secret: row.secret,
      told: [{ type: 'endpoint.updated' }],
    });
    given.push(changeOf('endpoint.updated', row, saved));
  }
  return given;
}
