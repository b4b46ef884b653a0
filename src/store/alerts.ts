import type { AlertKind } from '../domain/alert.ts';
import type { Queryable } from './database.ts';

/** An alert's state, the same for all nodes: each change has one winner, whose row it was to change. */
export interface AlertKey {
  subjectId: string;
  kind: AlertKind;
  projectId: string;
}

/** True: raised now, by this call. */
export async function raiseAlert(tx: Queryable, key: AlertKey, version: number): Promise<boolean> {
  const rows = await tx.query(
    `insert into alerts (subject_id, kind, project_id, version, raised_at) values ($1, $2, $3, $4, now())
     on conflict (subject_id, kind) do update
     set version = excluded.version, raised_at = excluded.raised_at, cleared_at = null
     where alerts.cleared_at is not null and alerts.project_id = excluded.project_id
     returning subject_id`,
    [key.subjectId, key.kind, key.projectId, version],
  );
  return rows.length > 0;
}

/** True: it was raised, and this call cleared it. */
export async function clearAlert(tx: Queryable, key: AlertKey, version: number): Promise<boolean> {
  const rows = await tx.query(
    `update alerts set version = $4, cleared_at = now()
     where subject_id = $1 and kind = $2 and project_id = $3 and cleared_at is null
     returning subject_id`,
    [key.subjectId, key.kind, key.projectId, version],
  );
  return rows.length > 0;
}

/** True: raised now, by this call. Such an alert is raised once and, when cleared, never again. */
export async function raiseAlertOnce(tx: Queryable, key: AlertKey, version: number): Promise<boolean> {
  const rows = await tx.query(
    `insert into alerts (subject_id, kind, project_id, version, raised_at) values ($1, $2, $3, $4, now())
     on conflict do nothing returning subject_id`,
    [key.subjectId, key.kind, key.projectId, version],
  );
  return rows.length > 0;
}

/** Clears every alert whose subject begins so; true if there was one. `subjectId` ends with a space. */
export async function clearAlertsUnder(tx: Queryable, key: AlertKey, version: number): Promise<boolean> {
  const rows = await tx.query(
    `update alerts set version = $4, cleared_at = now()
     where subject_id > $1 and subject_id < rtrim($1) || '!' and kind = $2 and project_id = $3 and cleared_at is null
     returning subject_id`,
    [key.subjectId, key.kind, key.projectId, version],
  );
  return rows.length > 0;
}

/** Alerts of subscriptions and certificates that changed after a version. */
export function alertsChangedSince(
  db: Queryable,
  projectId: string,
  version: number,
): Promise<{ subject_id: string; is_raised: boolean }[]> {
  return db.query(
    `select subject_id, cleared_at is null as is_raised from alerts
     where project_id = $1 and version > $2 and kind in ('failures', 'certificate')`,
    [projectId, version],
  );
}

const STEPS = 100;

/** Adds failed attempts of a subscription, and tells how many there were within the threshold, over all nodes. */
export async function countFailures(
  db: Queryable,
  subscription: { id: string; projectId: string },
  added: { failures: number; thresholdMs: number },
): Promise<number> {
  const [row] = await db.query<{ failures: number }>(
    `with step as materialized (
       select to_timestamp(floor(extract(epoch from now())::float8 / $4::float8) * $4::float8) as at
     ), added as (
       insert into alert_failures as f (subscription_id, project_id, at, failures) select $1, $2, at, $3 from step
       on conflict (subscription_id, at) do update set failures = f.failures + excluded.failures
       returning failures
     ), expired as (
       -- never waits, so that two nodes cannot wait for each other
       delete from alert_failures where ctid = any(array(
         select ctid from alert_failures
         where subscription_id = $1 and project_id = $2 and at < now() - $5::float8 * interval '1 second'
         for update skip locked))
     )
     select (coalesce(sum(failures), 0) + (select failures from added))::int as failures
     from alert_failures
     where subscription_id = $1 and project_id = $2 and at >= now() - $5::float8 * interval '1 second'
       and at <> (select at from step)`,
    [
      subscription.id,
      subscription.projectId,
      added.failures,
      added.thresholdMs / 1000 / STEPS,
      added.thresholdMs / 1000,
    ],
  );
  return row?.failures ?? 0;
}

/** Counting begins anew. */
export async function forgetFailures(
  tx: Queryable,
  subscription: { id: string; projectId: string },
): Promise<void> {
  await tx.query('delete from alert_failures where subscription_id = $1 and project_id = $2', [
    subscription.id,
    subscription.projectId,
  ]);
}
