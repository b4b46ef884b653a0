import { changeOf } from '../domain/audit.ts';
import { found, wrongState } from '../domain/errors.ts';
import type { PortalLinkFields } from '../domain/resources/portal-link-fields.ts';
import { randomText } from '../platform/random.ts';
import type { Sealer } from '../platform/sealer.ts';
import { audited } from '../store/audit/audit-entries.ts';
import {
  insertPortalLink,
  insertPortalTokens,
  revokePortalLink as revokeRow,
  updatePortalLink as updateRow,
} from '../store/changes/portal-link-writes.ts';
import { type PortalLinkRow, portalLinks } from '../store/config/portal-links.ts';
import type { Queryable } from '../store/database/database.ts';
import type { Author, ConfigChanges } from './config-changes.ts';
import { giveEndpoints } from './endpoint-changes.ts';

/** `endpointIds`: endpoints that the link's owner gets. */
export function createPortalLink(
  changes: ConfigChanges,
  by: Author,
  { fields, endpointIds }: { fields: PortalLinkFields; endpointIds: readonly string[] },
): Promise<PortalLinkRow> {
  const id = changes.deps.ids.next();
  return changes.change(by, async (change) => {
    const gift = { ownerId: fields.owner_id, ids: endpointIds };
    const given = await giveEndpoints(changes, change, gift);
    const token = newStaticToken(changes.deps, id);
    const result = await insertPortalLink(change, { id, fields, ...token });
    return { result, audit: [changeOf('portal_link.created', null, result), ...given] };
  });
}

/** `make` gives the link as it is to be. Callers who came with it are looked up again. */
export function updatePortalLink(
  changes: ConfigChanges,
  { id, ...by }: Author & { id: string },
  wanted: { make(row: PortalLinkRow): PortalLinkFields; endpointIds: readonly string[] },
): Promise<PortalLinkRow> {
  const { projectId } = by;
  return changes.endingAccess(projectId, () =>
    changes.change(by, async (change) => {
      const known = found(await portalLinks.getForUpdate(change, projectId, id), 'portal link', id);
      const fields = wanted.make(known);
      const gift = { ownerId: fields.owner_id, ids: wanted.endpointIds };
      const given = await giveEndpoints(changes, change, gift);
      const result = await updateRow(change, { id, fields });
      return { result, audit: [changeOf('portal_link.updated', known, result), ...given] };
    }),
  );
}

/** Ends a link and its tokens. */
export function revokePortalLink(
  changes: ConfigChanges,
  { id, ...by }: Author & { id: string },
): Promise<null> {
  return changes.endingAccess(by.projectId, () =>
    audited(changes.deps, by, async (tx) => {
      const link = found(await revokeRow(tx, by.projectId, id), 'portal link', id);
      return { result: null, audit: [changeOf('portal_link.revoked', link, null)] };
    }),
  );
}

/** A token of an hour, for a link of type refresh_token. */
export function refreshPortalToken(changes: ConfigChanges, by: Author, link: PortalLinkRow): Promise<string> {
  return audited(changes.deps, by, async (tx) => {
    const token = (await mintRefreshTokens(tx, changes.deps.sealer, [link])).get(link.id);
    if (token === undefined) throw wrongState('A link of type static_token has no refresh tokens.');
    return { result: token, audit: [changeOf('portal_link.token_made', link, link)] };
  });
}

const STATIC_CHARS = 24;
const MASK_CHARS = 16;
const SECRET_CHARS = 64;

interface Deps {
  sealer: Sealer;
}

const place = (linkId: string) => `portal link ${linkId}`;

/** A static token in its stored form: a hash for lookup, and a sealed copy to show it again. */
function newStaticToken({ sealer }: Deps, linkId: string): { tokenHash: Buffer; sealedToken: Buffer } {
  const token = randomText(STATIC_CHARS);
  return { tokenHash: sealer.lookupHash(token), sealedToken: sealer.seal(token, place(linkId)) };
}

export function staticToken({ sealer }: Deps, link: PortalLinkRow): string {
  return sealer.open(link.sealed_token, place(link.id));
}

/** A new token, valid for an hour, for each link of type refresh_token. Earlier ones stay valid until they expire. */
export async function mintRefreshTokens(
  db: Queryable,
  sealer: Sealer,
  links: readonly PortalLinkRow[],
): Promise<Map<string, string>> {
  const minted = links
    .filter((link) => link.auth_type === 'refresh_token')
    .map((link) => [link.id, `PRT.${randomText(MASK_CHARS)}.${randomText(SECRET_CHARS)}`] as const);
  await insertPortalTokens(
    db,
    minted.map(([linkId, token]) => ({ linkId, hash: sealer.lookupHash(token) })),
  );
  return new Map(minted);
}
