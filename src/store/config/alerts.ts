import type { AlertKind } from '../../domain/alert.ts';
import type { Queryable } from '../database/database.ts';

/** An alert's state, the same for all nodes. Each change has one winner, the statement that changed its row. */
export interface AlertKey {
  subjectId: string;
  kind: AlertKind;
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

/** Such an alert is raised once and, when cleared, never again. */
export const raiseAlertsOnce = move(`${RAISE} on conflict do nothing ${RETURNING}`);

export const clearAlerts = move(`with k as materialized (
    select a.subject_id, a.kind from alerts a join (select * from ${WANTED}) k using (subject_id, kind, project_id)
    where a.cleared_at is null order by a.subject_id, a.kind for update of a
  )
  update alerts set version = $4, cleared_at = now()
  from k where alerts.subject_id = k.subject_id and alerts.kind = k.kind and alerts.cleared_at is null ${RETURNING}`);

/**
 * Clears every alert with this prefix of the subject. `subjectId` ends with a space. It returns complete
 * subjects.
 */
export const clearAlertsUnder = move(`with k as materialized (
    select a.subject_id, a.kind from alerts a join (select * from ${WANTED}) k
      on a.subject_id > k.subject_id and a.subject_id < rtrim(k.subject_id) || '!'
      and a.kind = k.kind and a.project_id = k.project_id
    where a.cleared_at is null order by a.subject_id, a.kind for update of a
  )
  update alerts set version = $4, cleared_at = now()
  from k where alerts.subject_id = k.subject_id and alerts.kind = k.kind and alerts.cleared_at is null ${RETURNING}`);

/** Alerts of subscriptions and certificates that changed after a version. */
export function alertsChangedSince(
  db: Queryable,
  projectId: string,
  version: number,
): Promise<{ subject_id: string; kind: AlertKind; is_raised: boolean }[]> {
  return db.query(
    `select subject_id, kind, cleared_at is null as is_raised from alerts
     where project_id = $1 and version > $2 and kind in ('failures', 'certificate')`,
    [projectId, version],
  );
}

const STEPS = 100;

/** Failed attempts of a subscription. */
export interface AddedFailures {
  subscriptionId: string;
  failures: number;
  thresholdMs: number;
}

/**
 * Adds failed attempts of subscriptions, each named once, and returns how many each had within its threshold,
 * over all nodes.
 */
export async function countFailures(
  db: Queryable,
  projectId: string,
  added: readonly AddedFailures[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; failures: number }>(
    `with s as materialized (
       select id, failures, threshold * interval '1 second' as threshold,
         to_timestamp(floor(extract(epoch from now())::float8 / step) * step) as at
       from (
         select id, failures, threshold, threshold / ${STEPS} as step
         from unnest($2::text[], $3::int[], $4::float8[]) as s(id, failures, threshold)
       ) s
     ), added as (
       insert into alert_failures as f (subscription_id, project_id, at, failures)
       select id, $1, at, failures from s order by id
       on conflict (subscription_id, at) do update set failures = f.failures + excluded.failures
       returning subscription_id, failures
     ), expired as (
       -- never waits, so that two nodes cannot wait for each other
       delete from alert_failures where ctid = any(array(
         select f.ctid from alert_failures f join s on f.subscription_id = s.id
         where f.project_id = $1 and f.at < now() - s.threshold
         for update of f skip locked))
     )
     select s.id, (added.failures + coalesce((
       select sum(f.failures) from alert_failures f
       where f.subscription_id = s.id and f.project_id = $1 and f.at >= now() - s.threshold and f.at <> s.at
     ), 0))::int as failures
     from s join added on added.subscription_id = s.id`,
    [
      projectId,
      added.map(({ subscriptionId }) => subscriptionId),
      added.map(({ failures }) => failures),
      added.map(({ thresholdMs }) => thresholdMs / 1000),
    ],
  );
  return new Map(rows.map((row) => [row.id, row.failures]));
}

/** Resets the count to zero. */
export async function forgetFailures(
  tx: Queryable,
  projectId: string,
  subscriptionIds: readonly string[],
): Promise<void> {
  await tx.query('delete from alert_failures where subscription_id = any($2) and project_id = $1', [
    projectId,
    subscriptionIds,
  ]);
}
