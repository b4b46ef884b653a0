import type { AlertKind, StoredAlertKind } from '../../domain/alert.ts';
import type { Queryable } from '../database/database.ts';

export async function isAlertRaised(
  db: Queryable,
  { subjectId, kind, projectId }: { subjectId: string; kind: StoredAlertKind; projectId: string },
): Promise<boolean> {
  const rows = await db.query(
    'select from alerts where subject_id = $1 and kind = $2 and project_id = $3 and cleared_at is null',
    [subjectId, kind, projectId],
  );
  return rows.length > 0;
}

/** Alerts of subscriptions, certificates and outages that changed after a version. */
export function alertsChangedSince(
  db: Queryable,
  projectId: string,
  version: number,
): Promise<{ subject_id: string; kind: AlertKind; is_raised: boolean }[]> {
  return db.query(
    `select subject_id, kind, cleared_at is null as is_raised from alerts
     where project_id = $1 and version > $2 and kind in ('failures', 'certificate', 'ordering', 'outage')`,
    [projectId, version],
  );
}
