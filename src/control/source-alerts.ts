import { clearAlerts, raiseAlerts } from '../store/changes/alert-writes.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { ConfigChanges } from './config-changes.ts';

/** Raises or clears the alert of a source that cannot take messages. It goes out as a meta event. */
export function moveSourceAlert(
  changes: ConfigChanges,
  source: Pick<SourceRow, 'id' | 'project_id' | 'name'>,
  { state, summary, reason }: { state: 'raised' | 'cleared'; summary: string; reason: string },
): Promise<void> {
  const projectId = source.project_id;
  return changes.changeState(projectId, async (change) => {
    const move = state === 'raised' ? raiseAlerts : clearAlerts;
    const moved = await move(change, [{ subjectId: source.id, kind: 'source', projectId }], change.version);
    if (moved.length === 0) return;
    change.metaEvent(`alert.${state}`, () => ({
      kind: 'source',
      project_id: projectId,
      source_id: source.id,
      source: { uid: source.id, name: source.name },
      summary,
      last_reason: reason,
    }));
  });
}
