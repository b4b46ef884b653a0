import type { PortalLinkFields } from '../../domain/resources/portal-link-fields.ts';
import { type PortalLinkRow, portalLinks } from '../config/portal-links.ts';
import type { Queryable } from '../database/database.ts';
import { notifyNodes } from '../database/notify-nodes.ts';
import type { ConfigChange } from './config-change.ts';

const COLUMNS = portalLinks.columns;

const values = (fields: PortalLinkFields) => [
  fields.name,
  fields.owner_id,
  fields.can_manage_endpoint,
  fields.can_create_events,
  fields.auth_type,
  fields.expires_at,
  fields.event_types,
  fields.can_retry,
  fields.can_see_secrets,
  fields.can_edit_functions,
];

export async function insertPortalLink(
  change: ConfigChange,
  link: { id: string; fields: PortalLinkFields; tokenHash: Buffer; sealedToken: Buffer },
): Promise<PortalLinkRow> {
  const [row] = await change.query<PortalLinkRow>(
    `insert into portal_links (id, project_id, name, owner_id, can_manage_endpoint, can_create_events, auth_type, expires_at, event_types,
       can_retry, can_see_secrets, can_edit_functions, token_hash, sealed_token)
     values ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), $9, $10, $11, $12, $13, $14) returning ${COLUMNS}`,
    [link.id, change.projectId, ...values(link.fields), link.tokenHash, link.sealedToken],
  );
  return row as PortalLinkRow;
}

export async function updatePortalLink(
  change: ConfigChange,
  link: { id: string; fields: PortalLinkFields },
): Promise<PortalLinkRow> {
  const [row] = await change.query<PortalLinkRow>(
    `update portal_links set name = $3, owner_id = $4, can_manage_endpoint = $5, can_create_events = $6, auth_type = $7,
       expires_at = to_timestamp($8::float8 / 1000), event_types = $9, can_retry = $10, can_see_secrets = $11,
       can_edit_functions = $12, updated_at = now()
     where id = $1 and project_id = $2 returning ${COLUMNS}`,
    [link.id, change.projectId, ...values(link.fields)],
  );
  return row as PortalLinkRow;
}

/**
 * Undefined if there was no such link to revoke. Its tokens of either kind stop working with it. Other nodes
 * are notified.
 */
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
  await notifyNodes(tx, projectId);
  return row;
}

/** Stores new tokens, valid for an hour, and removes the expired ones of the same links. */
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
