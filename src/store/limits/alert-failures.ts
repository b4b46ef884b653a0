import type { Queryable } from '../database/database.ts';

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
