import { type PortalLinkFields, portalLinkFields } from '../../domain/resources/portal-link-fields.ts';
import { type PortalLinkRow, portalLinks } from '../config/portal-links.ts';
import type { Queryable } from '../database/database.ts';
import { notifyNodes } from '../database/notify-nodes.ts';
import type { ConfigChange } from './config-change.ts';

const COLUMNS = portalLinks.columns;

const NAMES = Object.keys(portalLinkFields) as (keyof PortalLinkFields)[];
/** After the ids of the link and its project. */
const PARAMETERS = NAMES.map((name, index) =>
  name === 'expires_at' ? `to_timestamp($${index + 3}::float8 / 1000)` : `$${index + 3}`,
);
const valuesOf = (fields: PortalLinkFields) => NAMES.map((name) => fields[name]);

export async function insertPortalLink(
  change: ConfigChange,
  link: { id: string; fields: PortalLinkFields; tokenHash: Buffer; sealedToken: Buffer },
): Promise<PortalLinkRow> {
  const next = NAMES.length + 3;
  const [row] = await change.query<PortalLinkRow>(
    `insert into portal_links (id, project_id, ${NAMES.join(', ')}, token_hash, sealed_token)
     values ($1, $2, ${PARAMETERS.join(', ')}, $${next}, $${next + 1}) returning ${COLUMNS}`,
    [link.id, change.projectId, ...valuesOf(link.fields), link.tokenHash, link.sealedToken],
  );
  return row as PortalLinkRow;
}

export async function updatePortalLink(
  change: ConfigChange,
  link: { id: string; fields: PortalLinkFields },
): Promise<PortalLinkRow> {
  const changes = NAMES.map((name, index) => `${name} = ${PARAMETERS[index]}`);
  const [row] = await change.query<PortalLinkRow>(
    `update portal_links set ${changes.join(', ')}, updated_at = now()
     where id = $1 and project_id = $2 returning ${COLUMNS}`,
    [link.id, change.projectId, ...valuesOf(link.fields)],
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
