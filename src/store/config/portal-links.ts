import type { ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { type PortalLinkFields, portalLinkFields } from '../../domain/resources/portal-link-fields.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { ofHashes } from '../database/look-up.ts';
import { type ConfigRow, ConfigTable } from './config-table.ts';

export interface PortalLinkRow extends ConfigRow, PortalLinkFields {
  sealed_token: Buffer;
}

class PortalLinkTable extends ConfigTable<PortalLinkRow> {
  list(
    db: Queryable,
    projectId: ProjectId,
    filter: {
      page: PageRequest;
      ownerId?: string | undefined;
      name?: string | undefined;
      endpointIds?: string[];
    },
  ): Promise<Page<PortalLinkRow>> {
    const where = this.live(projectId)
      .addIf('owner_id = ?', filter.ownerId)
      .addIf('position(lower(?) in lower(name)) > 0', filter.name);
    if (filter.endpointIds !== undefined && filter.endpointIds.length > 0) {
      where.add(
        'owner_id in (select e.owner_id from endpoints e where e.project_id = ? and e.id = any(?) and e.deleted_at is null)',
        projectId,
        filter.endpointIds,
      );
    }
    return this.page(db, where, filter.page);
  }
}

export const portalLinks = new PortalLinkTable('portal_links', [
  ...Object.keys(portalLinkFields),
  'sealed_token',
]);

/** A link of a project that has moved leads to the answer that says so. */
const LIVE = `l.deleted_at is null and (l.expires_at is null or l.expires_at > now())
  and exists (select from projects p where p.id = l.project_id and (p.deleted_at is null or p.cell_state = 'moved'))`;
const LINK_COLUMNS = portalLinks.columns
  .split(', ')
  .map((name) => `l.${name}`)
  .join(', ');

/** A live link, found by a token. */
export interface OpenedLink extends PortalLinkRow {
  /** When the token expires. Null: never. */
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
  return ofHashes(hashes, rows);
}
