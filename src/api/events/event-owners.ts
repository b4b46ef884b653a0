import { readTarget } from '../../ingest/prepare-event.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { StoredEvent } from '../../store/history/events.ts';

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
