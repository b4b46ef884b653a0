import type { EndpointScope } from '../../../domain/endpoint-scope.ts';
import type { ProjectRouting } from '../../../routing/project-routing.ts';
import type { PortalCaller } from './caller.ts';

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
