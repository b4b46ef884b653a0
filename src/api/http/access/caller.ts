import { AsyncLocalStorage } from 'node:async_hooks';
import type { Actor } from '../../../domain/audit.ts';
import type { EndpointScope, PortalRights } from '../../../domain/endpoint-scope.ts';
import type { Role } from '../../../domain/role.ts';
import type { ProjectRouting } from '../../../routing/project-routing.ts';

/**
 * The caller. The instance key may do anything. A project key has a role in its project. A person who is signed in has a
 * role in each of some projects, or is an administrator of the instance. The holder of a portal link may use operations
 * open to portals, for the endpoints of the link's owner.
 */
export type Caller =
  | { kind: 'instance'; keyId: string }
  | { kind: 'project'; keyId: string; projectId: string; role: Role }
  | {
      kind: 'person';
      personId: string;
      sessionId: string;
      isInstanceAdmin: boolean;
      hasSecondFactor: boolean;
      /** The instance requires one. */
      needsSecondFactor: boolean;
      roles: Readonly<Record<string, Role>>;
    }
  | PortalCaller;

export interface PortalCaller extends PortalRights {
  kind: 'portal';
  linkId: string;
  projectId: string;
  ownerId: string;
  eventTypes: readonly string[];
}

/** The key, person or portal link. */
export function callerIdOf(caller: Caller): string {
  if (caller.kind === 'portal') return caller.linkId;
  return caller.kind === 'person' ? caller.personId : caller.keyId;
}

type Header = string | string[] | undefined;

/** The caller in the form of the audit log. `cliUser`: the value of CLI_USER_HEADER. */
export function actorOf(
  caller: Caller,
  { via, ...origin }: { address: string; cliUser?: Header; via?: string | undefined },
): Actor {
  const actor = credentialOf(caller, origin);
  return via === undefined ? actor : { ...actor, via };
}

function credentialOf(
  caller: Caller,
  { address, cliUser }: { address: string; cliUser?: Header },
): Exclude<Actor, { type: 'instance' }> {
  switch (caller.kind) {
    case 'instance': {
      const user = cliUserOf(cliUser);
      if (user === null) return { type: 'instance_key', id: caller.keyId, address };
      return { type: 'cli', id: user, credentialId: caller.keyId, address };
    }
    case 'project':
      return { type: 'api_key', id: caller.keyId, address };
    case 'person':
      return { type: 'person', id: caller.personId, credentialId: caller.sessionId, address };
    case 'portal':
      return { type: 'portal_link', id: caller.linkId, address };
  }
}

const MAX_USER_CHARS = 256;

/** An unreadable name is ignored, so the entry names the key. */
function cliUserOf(encoded: string | string[] | undefined): string | null {
  if (typeof encoded !== 'string' || encoded === '' || encoded.length > MAX_USER_CHARS) return null;
  try {
    const id = decodeURIComponent(encoded);
    return id.includes('\0') ? null : id;
  } catch {
    return null;
  }
}

/** The tool of an assistant that makes the calls within `run`, for the audit log. Callers have no way to name one. */
export const via = new AsyncLocalStorage<string>();

/** The endpoints of each owner, found once per version of a project's config. */
const ownersOf = new WeakMap<ProjectRouting, Map<string, Set<string>>>();

export function ownerScope(routing: ProjectRouting, link: PortalCaller): EndpointScope {
  let owners = ownersOf.get(routing);
  if (owners === undefined) {
    owners = new Map();
    for (const { row } of routing.endpoints.values()) {
      const ids = owners.get(row.owner_id);
      if (ids === undefined) owners.set(row.owner_id, new Set([row.id]));
      else ids.add(row.id);
    }
    ownersOf.set(routing, owners);
  }
  // A link without an owner shows nothing, because endpoints without an owner belong to the project.
  const endpointIds = link.ownerId === '' ? undefined : owners.get(link.ownerId);
  return { ...link, endpointIds: endpointIds ?? new Set() };
}
