import type { CreatePortalLink, PortalLink } from '../../../client/src/posthorn.ts';
import type { Run } from '../terminal/command.ts';
import { readObject } from '../terminal/input.ts';
import type { Column } from '../terminal/output.ts';
import { ended, many, one } from './resources.ts';

/** A list omits the address, because it contains the token. */
const columns: readonly Column<PortalLink>[] = [
  ['UID', ({ uid }) => uid],
  ['NAME', ({ name }) => name],
  ['OWNER', ({ owner_id }) => owner_id],
  ['ENDPOINTS', ({ endpoint_count }) => endpoint_count],
  ['MAY', rightsOf],
  ['EXPIRES', ({ expires_at }) => expires_at ?? 'never'],
  ['CREATED', ({ created_at }) => created_at],
];

export const portalLinks: Record<string, Run> = {
  list: many(columns, (posthorn, given) => posthorn.portalLinks.list(given.fields({ ownerId: 'owner' }))),
  get: one((posthorn, given) => posthorn.portalLinks.get(given.operand())),
  create: one(async (posthorn, given) => {
    const body = {
      ...given.fields({ name: 'owner' }),
      ...(await readObject(given)),
      ...given.fields({ name: 'name', owner_id: 'owner', expires_at: 'expires-at' }),
    };
    return posthorn.portalLinks.create(body as unknown as CreatePortalLink);
  }),
  revoke: ended('revoked')((posthorn, id) => posthorn.portalLinks.revoke(id)),
};

function rightsOf({ can_manage_endpoint, can_retry, can_create_events }: PortalLink): string {
  const rights = [
    can_manage_endpoint && 'manage',
    can_retry && 'retry',
    can_create_events && 'create events',
  ];
  return rights.filter((right) => right !== false).join(', ') || 'look';
}
