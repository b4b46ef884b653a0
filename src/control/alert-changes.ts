import { type Alert, type LastFailure, orderingSubject, type SourceAlertKind } from '../domain/alert.ts';
import type { ProjectId } from '../domain/ids.ts';
import { keyInId } from '../routing/ordering.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import { clearAlerts, raiseAlerts, raiseAlertsDaily } from '../store/changes/alert-writes.ts';
import type { SourceRow } from '../store/config/sources.ts';
import { type HeldKey, heldSubscriptions } from '../store/ordering/held-keys.ts';
import type { ConfigChange, ConfigChanges } from './config-changes.ts';

/**
 * The alert of a subscription is raised while one of its ordering keys is held. What the keys say now decides, not what
 * made the caller look. Null: nothing is to change.
 */
export async function lookAtOrdering(
  changes: ConfigChanges,
  projectId: ProjectId,
  looks: ReadonlyMap<string, LastFailure | null>,
): Promise<((change: ConfigChange) => Promise<Alert[]>) | null> {
  const routing = await changes.deps.cache.get(projectId);
  const known = [...looks.keys()].filter((id) => routing.subscriptions.has(id));
  const before = await heldSubscriptions(changes.deps.db, projectId, known);
  const ids = known.filter(
    (id) => before.has(id) !== (routing.alerts.get(orderingSubject(id))?.isRaised === true),
  );
  if (ids.length === 0) return null;
  return async (change) => {
    // Changes of a project take turns, so that a slower look cannot undo what a later one found.
    const held = await heldSubscriptions(change, projectId, ids);
    const wanted = ids.flatMap((id) => alertOf(routing, id, held.get(id), looks.get(id) ?? null) ?? []);
    return changes.moveAlerts(change, wanted);
  };
}

/** At once, for a caller. */
export async function settleOrderingAlerts(
  changes: ConfigChanges,
  projectId: ProjectId,
  looks: ReadonlyMap<string, LastFailure | null>,
): Promise<void> {
  const settle = await lookAtOrdering(changes, projectId, looks);
  if (settle !== null) await changes.changeState(projectId, settle);
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

export interface SourceAlert {
  kind: SourceAlertKind;
  state: 'raised' | 'cleared';
  summary: string;
  reason: string;
}

/** Raises or clears an alert of a source. It goes out as a meta event. */
export function moveSourceAlert(
  changes: ConfigChanges,
  source: Pick<SourceRow, 'id' | 'project_id' | 'name'>,
  { kind, state, summary, reason }: SourceAlert,
): Promise<void> {
  const projectId = source.project_id;
  const make = async (change: ConfigChange) => {
    const raise = kind === 'source_loop' ? raiseAlertsDaily : raiseAlerts;
    const move = state === 'raised' ? raise : clearAlerts;
    const moved = await move(change, [{ subjectId: source.id, kind, projectId }], change.version);
    if (moved.length > 0)
      change.metaEvent(`alert.${state}`, () => ({
        kind,
        project_id: projectId,
        source_id: source.id,
        source: { uid: source.id, name: source.name },
        summary,
        last_reason: reason,
      }));
    return [];
  };
  return changes.states.join(projectId, { isConfig: false, make });
}
