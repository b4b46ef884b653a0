import type { SourceAlertKind } from '../domain/alert.ts';
import { clearAlerts, raiseAlerts, raiseAlertsDaily } from '../store/changes/alert-writes.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { ConfigChanges } from './config-changes.ts';

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
  return changes.changeState(projectId, async (change) => {
    const raise = kind === 'source_loop' ? raiseAlertsDaily : raiseAlerts;
    const move = state === 'raised' ? raise : clearAlerts;
    const moved = await move(change, [{ subjectId: source.id, kind, projectId }], change.version);
    if (moved.length === 0) return;
    change.metaEvent(`alert.${state}`, () => ({
      kind,
      project_id: projectId,
      source_id: source.id,
      source: { uid: source.id, name: source.name },
      summary,
      last_reason: reason,
    }));
  });
}
