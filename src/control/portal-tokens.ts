import { randomText } from '../platform/random.ts';
import type { Sealer } from '../platform/sealer.ts';
import { insertPortalTokens } from '../store/changes/portal-link-writes.ts';
import type { PortalLinkRow } from '../store/config/portal-links.ts';
import type { Queryable } from '../store/database/database.ts';

const STATIC_CHARS = 24;
const MASK_CHARS = 16;
const SECRET_CHARS = 64;

interface Deps {
  sealer: Sealer;
}

const place = (linkId: string) => `portal link ${linkId}`;

/** A static token in its stored form: a hash for lookup, and a sealed copy to show it again. */
export function newStaticToken({ sealer }: Deps, linkId: string): { tokenHash: Buffer; sealedToken: Buffer } {
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
