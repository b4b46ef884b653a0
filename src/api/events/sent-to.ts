import { badQuery } from '../../domain/errors.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import { readTarget } from '../../ingest/prepare-event.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { StoredEvent } from '../../store/history/events.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { Repeated } from '../http/fields.ts';

/** Parameters that limit whom a replay is sent to. The filters of a batch choose its events. */
export const sentToQuery = {
  to_owner: Type.Optional(Type.String({ description: 'Send only to the endpoints of this owner.' })),
  to_endpoint: Repeated('Send only to these endpoints.'),
};

/**
 * The endpoints that a replay may be sent to: those of the parameters within those of the caller. Undefined: all. A limit
 * that leaves no endpoint is refused.
 */
export async function sentTo(
  { cache }: Pick<ReadContext, 'cache'>,
  { id: projectId }: Pick<ProjectRow, 'id'>,
  { query, within }: { query: Call<unknown>['query']; within: readonly string[] | undefined },
): Promise<readonly string[] | undefined> {
  const ownerId = queryValue(query, 'to_owner');
  const named = new Set(queryValues(query, 'to_endpoint'));
  if (ownerId === undefined && named.size === 0) return within;
  const { endpoints } = await cache.refresh(projectId);
  const allowed = new Set(within ?? endpoints.keys());
  const isOpen = (id: string) => allowed.has(id) && endpoints.has(id);
  const closed = [...named].find((id) => !isOpen(id));
  if (closed !== undefined)
    throw badQuery('to_endpoint', `"${closed}" is no endpoint that this replay may be sent to`);
  const ids = named.size > 0 ? [...named] : [...allowed].filter(isOpen);
  if (ownerId === undefined) return ids;
  const owned = ids.filter((id) => endpoints.get(id)?.row.owner_id === ownerId);
  if (owned.length === 0)
    throw badQuery('to_owner', `"${ownerId}" has no endpoint that this replay may be sent to`);
  return owned;
}

/** The customers of an event: the one that a fan-out named, and the owners of the endpoints that it went to. */
export function ownersOf(
  { endpoints, target }: Pick<StoredEvent, 'endpoints' | 'target'>,
  routing: Pick<ProjectRouting, 'endpoints'>,
): string[] {
  const owners = new Set(endpoints.map((id) => routing.endpoints.get(id)?.row.owner_id ?? ''));
  const asked = readTarget(target);
  if (asked.kind === 'owner') owners.add(asked.ownerId);
  owners.delete('');
  return [...owners];
}
