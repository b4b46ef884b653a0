import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { tellNodes } from '../database/tell-nodes.ts';

export const portalAuthTypes = ['static_token', 'refresh_token'] as const;
export type PortalAuthType = (typeof portalAuthTypes)[number];

export interface PortalLinkFields {
  name: string;
  owner_id: string;
  can_manage_endpoint: boolean;
  can_create_events: boolean;
  /** Empty: all. */
  event_types: string[];
  auth_type: PortalAuthType;
  expires_at: number | null;
}

export interface PortalLinkRow extends PortalLinkFields {
  id: string;
  project_id: string;
  sealed_token: Buffer;
  updated_at: number;
  deleted_at: number | null;
}

const COLUMNS =
  'id, project_id, name, owner_id, can_manage_endpoint, can_create_events, event_types, auth_type, sealed_token, expires_at, updated_at, deleted_at';

const values = (fields: PortalLinkFields) => [
  fields.name,
  fields.owner_id,
  fields.can_manage_endpoint,
  fields.can_create_events,
  fields.auth_type,
  fields.expires_at,
  fields.event_types,
];

export async function insertPortalLink(
  tx: Queryable,
  link: { id: string; projectId: string; fields: PortalLinkFields; tokenHash: Buffer; sealedToken: Buffer },
): Promise<PortalLinkRow> {
  const [row] = await tx.query<PortalLinkRow>(
    `insert into portal_links (id, project_id, name, owner_id, can_manage_endpoint, can_create_events, auth_type, expires_at, event_types, token_hash, sealed_token)
     values ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), $9, $10, $11) returning ${COLUMNS}`,
    [link.id, link.projectId, ...values(link.fields), link.tokenHash, link.sealedToken],
  );
  return row as PortalLinkRow;
}

export async function updatePortalLink(
  tx: Queryable,
  link: { id: string; projectId: string; fields: PortalLinkFields },
): Promise<PortalLinkRow> {
  const [row] = await tx.query<PortalLinkRow>(
    `update portal_links set name = $3, owner_id = $4, can_manage_endpoint = $5, can_create_events = $6, auth_type = $7,
       expires_at = to_timestamp($8::float8 / 1000), event_types = $9, updated_at = now()
     where id = $1 and project_id = $2 returning ${COLUMNS}`,
    [link.id, link.projectId, ...values(link.fields)],
  );
  return row as PortalLinkRow;
}

export async function getPortalLink(
  db: Queryable,
  projectId: string,
  id: string,
): Promise<PortalLinkRow | undefined> {
  const [row] = await db.query<PortalLinkRow>(
    `select ${COLUMNS} from portal_links where id = $1 and project_id = $2 and deleted_at is null`,
    [id, projectId],
  );
  return row;
}

/** Locks the row, for a change that depends on what it holds. */
export async function getPortalLinkForUpdate(
  tx: Queryable,
  projectId: string,
  id: string,
): Promise<PortalLinkRow | undefined> {
  const [row] = await tx.query<PortalLinkRow>(
    `select ${COLUMNS} from portal_links where id = $1 and project_id = $2 and deleted_at is null for update`,
    [id, projectId],
  );
  return row;
}

export function listPortalLinks(
  db: Queryable,
  projectId: string,
  filter: {
    page: PageRequest;
    ownerId?: string | undefined;
    name?: string | undefined;
    endpointIds?: string[];
  },
): Promise<Page<PortalLinkRow>> {
  const where = new Where()
    .add('project_id = ?', projectId)
    .add('deleted_at is null')
    .addIf('owner_id = ?', filter.ownerId)
    .addIf('position(lower(?) in lower(name)) > 0', filter.name);
  if (filter.endpointIds !== undefined && filter.endpointIds.length > 0) {
    where.add(
      'owner_id in (select e.owner_id from endpoints e where e.project_id = ? and e.id = any(?) and e.deleted_at is null)',
      projectId,
      filter.endpointIds,
    );
  }
  return listPage(db, { select: COLUMNS, from: 'portal_links', where, page: filter.page, id: 'id' });
}

/** Undefined if there was no such link to revoke. Its tokens of either kind stop with it; other nodes are told. */
export async function revokePortalLink(
  tx: Queryable,
  projectId: string,
  id: string,
): Promise<PortalLinkRow | undefined> {
  const [row] = await tx.query<PortalLinkRow>(
    `with revoked as (
       update portal_links set deleted_at = now(), updated_at = now()
       where id = $1 and project_id = $2 and deleted_at is null returning ${COLUMNS}
     ), ended as (
       delete from portal_tokens where portal_link_id in (select id from revoked)
     )
     select ${COLUMNS} from revoked`,
    [id, projectId],
  );
  await tellNodes(tx, projectId);
  return row;
}

const LIVE =
  'l.deleted_at is null and (l.expires_at is null or l.expires_at > now()) and exists (select from projects p where p.id = l.project_id and p.deleted_at is null)';
const LINK_COLUMNS = COLUMNS.split(', ')
  .map((name) => `l.${name}`)
  .join(', ');

/** A live link, found by a token. */
export interface OpenedLink extends PortalLinkRow {
  /** When the token stops opening it; null: never. */
  opens_until: number | null;
}

const FIND = `
select ${LINK_COLUMNS}, l.expires_at as opens_until, l.token_hash as hash from portal_links l
where l.token_hash = any($1::bytea[]) and l.auth_type = 'static_token' and ${LIVE}
union all
select ${LINK_COLUMNS}, least(l.expires_at, t.expires_at), t.hash
from portal_tokens t join portal_links l on l.id = t.portal_link_id
where t.hash = any($1::bytea[]) and t.expires_at > now() and l.auth_type = 'refresh_token' and ${LIVE}`;

/**
 * The live links that tokens with these hashes open, in their order. A link opens by the tokens of its own type only.
 * On the pool of accept and finish, as keys are: a caller is known however busy the other connections are.
 */
export async function findLinksByToken(
  db: HotQueryable,
  hashes: readonly Buffer[],
): Promise<(OpenedLink | undefined)[]> {
  const rows = await db.hot<OpenedLink & { hash: Buffer }>('find-portal-links', FIND, [hashes]);
  const byHash = new Map(rows.map((row) => [row.hash.toString('hex'), row]));
  return hashes.map((hash) => byHash.get(hash.toString('hex')));
}

/** Stores new tokens, valid for an hour, and drops the expired ones of the same links. */
export async function insertPortalTokens(
  db: Queryable,
  tokens: { linkId: string; hash: Buffer }[],
): Promise<void> {
  if (tokens.length === 0) return;
  await db.query(
    `with expired as (delete from portal_tokens where portal_link_id = any($1) and expires_at < now())
     insert into portal_tokens (portal_link_id, hash, expires_at)
     select link_id, hash, now() + interval '1 hour' from unnest($1::text[], $2::bytea[]) as t(link_id, hash)`,
    [tokens.map((token) => token.linkId), tokens.map((token) => token.hash)],
  );
}
