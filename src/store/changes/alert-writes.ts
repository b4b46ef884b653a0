import type { StoredAlertKind } from '../../domain/alert.ts';
import type { Queryable } from '../database/database.ts';

/** An alert's state, the same for all nodes. Each change has one winner, the statement that changed its row. */
export interface AlertKey {
  subjectId: string;
  kind: StoredAlertKind;
  projectId: string;
}

/** Moves alerts and returns the keys of those that this call moved. No key twice. */
export type AlertMove = (tx: Queryable, keys: readonly AlertKey[], version: number) => Promise<AlertKey[]>;

const WANTED =
  'unnest($1::text[], $2::text[], $3::text[]) as k(subject_id, kind, project_id) order by k.subject_id, k.kind';
const RAISE = `insert into alerts (subject_id, kind, project_id, version, raised_at)
  select subject_id, kind, project_id, $4, now() from ${WANTED}`;
const RETURNING = 'returning alerts.subject_id as "subjectId", alerts.kind, alerts.project_id as "projectId"';

const move =
  (text: string): AlertMove =>
  (tx, keys, version) =>
    tx.query<AlertKey>(text, [
      keys.map(({ subjectId }) => subjectId),
      keys.map(({ kind }) => kind),
      keys.map(({ projectId }) => projectId),
      version,
    ]);

export const raiseAlerts = move(`${RAISE}
  on conflict (subject_id, kind) do update
  set version = excluded.version, raised_at = excluded.raised_at, cleared_at = null
  where alerts.cleared_at is not null and alerts.project_id = excluded.project_id
  ${RETURNING}`);

/** Such an alert is never cleared. It is raised again after a day. */
export const raiseAlertsDaily = move(`${RAISE}
  on conflict (subject_id, kind) do update
  set version = excluded.version, raised_at = excluded.raised_at
  where alerts.raised_at < excluded.raised_at - interval '1 day' and alerts.project_id = excluded.project_id
  ${RETURNING}`);

/** Such an alert is raised once and, when cleared, never again. */
export const raiseAlertsOnce = move(`${RAISE} on conflict do nothing ${RETURNING}`);

/** `on`: which alerts a key clears. */
const clear = (on: string): AlertMove =>
  move(`with k as materialized (
    select a.subject_id, a.kind from alerts a join (select * from ${WANTED}) k on ${on}
      and a.kind = k.kind and a.project_id = k.project_id
    where a.cleared_at is null order by a.subject_id, a.kind for update of a
  )
  update alerts set version = $4, cleared_at = now()
  from k where alerts.subject_id = k.subject_id and alerts.kind = k.kind and alerts.cleared_at is null ${RETURNING}`);

export const clearAlerts = clear('a.subject_id = k.subject_id');

/**
 * Clears every alert with this prefix of the subject. `subjectId` ends with a space. It returns complete
 * subjects.
 */
export const clearAlertsUnder = clear(
  "a.subject_id > k.subject_id and a.subject_id < rtrim(k.subject_id) || '!'",
);
