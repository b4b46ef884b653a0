import { type Alert, type LastFailure, orderingSubject } from '../domain/alert.ts';
import type { ProjectId } from '../domain/ids.ts';
import { keyInId } from '../routing/ordering.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import { type HeldKey, heldSubscriptions } from '../store/ordering/held-subscriptions.ts';
import type { ConfigChanges } from './config-changes.ts';

/**
 * The alert of a subscription is raised while one of its ordering keys is held. What the keys say now decides, not what
 * made the caller look. A look that changes nothing makes no version of the config.
 */
export async function settleOrderingAlerts(
  changes: ConfigChanges,
  projectId: ProjectId,
  looks: ReadonlyMap<string, LastFailure | null>,
): Promise<Alert[]> {
  const routing = await changes.deps.cache.get(projectId);
  const known = [...looks.keys()].filter((id) => routing.subscriptions.has(id));
  const before = await heldSubscriptions(changes.deps.db, projectId, known);
  const ids = known.filter(
    (id) => before.has(id) !== (routing.alerts.get(orderingSubject(id))?.isRaised === true),
  );
  if (ids.length === 0) return [];
  return changes.changeState(projectId, async (change) => {
    // Changes of a project take turns, so that a slower look cannot undo what a later one found.
    const held = await heldSubscriptions(change, projectId, ids);
    const wanted = ids.flatMap((id) => alertOf(routing, id, held.get(id), looks.get(id) ?? null) ?? []);
    return changes.moveAlerts(change, wanted);
  });
}

function alertOf(
  { subscriptions, endpoints }: ProjectRouting,
  id: string,
  held: HeldKey | undefined,
  last: LastFailure | null,
): Alert | null {
  const row = subscriptions.get(id)?.row;
  const endpoint = row && endpoints.get(row.endpoint_id)?.row;
  if (row === undefined || endpoint === undefined) return null;
  const of = { kind: 'ordering', endpoint, subscription: { id: row.id, name: row.name } } as const;
  if (held === undefined)
    return { ...of, state: 'cleared', summary: 'No ordering key is held any more.', lastFailure: null };
  const summary = `A failed delivery holds the ordering key ${JSON.stringify(keyInId(held.id))}.`;
  return { ...of, state: 'raised', summary, lastFailure: last };
}
