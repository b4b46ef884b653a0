import type { Queryable } from '../database/database.ts';
import { Where } from '../database/list-page.ts';

/** Null means an open end. */
export interface Period {
  fromMs: number | null;
  toMs: number | null;
}

export type Interval = 'day' | 'week' | 'month' | 'year';

export interface IntervalCounts {
  start: number;
  deliveries: number;
  successes: number;
  failures: number;
}

/** Counts attempts of some event types per interval. The counters do not distinguish types, so it reads stored attempts. */
export function typedCountsPerInterval(
  db: Queryable,
  of: { projectId: string; endpointIds: readonly string[]; eventTypes: readonly string[] },
  wanted: Period & { interval: Interval },
): Promise<IntervalCounts[]> {
  const where = new Where()
    .add('d.project_id = ?', of.projectId)
    .add('d.endpoint_id = any(?)', of.endpointIds)
    .ofTypes('d.event_type', of.eventTypes);
  const [from, to, interval] = [wanted.fromMs, wanted.toMs, wanted.interval].map((value) =>
    where.values.push(value),
  );
  return db.query<IntervalCounts>(
    `select date_trunc($${interval}, requested_at, 'UTC') as start, (count(*) filter (where is_first))::int as deliveries,
       (count(*) filter (where succeeded))::int as successes, (count(*) filter (where not succeeded))::int as failures
     from (
       select a.requested_at, a.succeeded, row_number() over (partition by a.delivery_id order by a.id) = 1 as is_first
       from event_deliveries d join attempts a on a.project_id = d.project_id and a.delivery_id = d.id
       where ${where.toString()}
     ) attempts
     where requested_at >= coalesce(to_timestamp($${from}::float8 / 1000), '-infinity')
       and requested_at <= coalesce(to_timestamp($${to}::float8 / 1000), 'infinity')
     group by 1 order by 1`,
    where.values,
  );
}

/** Minutes are kept for two days. */
const HOURS_BEFORE = "date_trunc('hour', now() - interval '47 hours', 'UTC')";

/**
 * Deliveries and attempts of endpoints, per day, week, month or year (UTC), oldest first, without empty intervals. The
 * range is one of whole minutes, and before the last two days of whole hours.
 */
export function countsPerInterval(
  db: Queryable,
  of: { projectId: string; endpointIds: readonly string[] },
  wanted: Period & { interval: Interval },
): Promise<IntervalCounts[]> {
  return db.query<IntervalCounts>(
    `select date_trunc($5, start, 'UTC') as start, sum(first_attempts)::int as deliveries,
       sum(attempts - failed_attempts)::int as successes, sum(failed_attempts)::int as failures
     from (
       select start, first_attempts, attempts, failed_attempts from traffic
       where project_id = $1 and subject_id = any($2)
         and ((step = 1 and start >= ${HOURS_BEFORE}) or (step = 60 and start < ${HOURS_BEFORE}))
       union all
       select minute, first_attempts, attempts, failed_attempts from recent_counts
       where project_id = $1 and endpoint_id = any($2)
     ) counted
     where attempts > 0 and start >= coalesce(date_trunc('minute', to_timestamp($3::float8 / 1000)), '-infinity')
       and start <= coalesce(to_timestamp($4::float8 / 1000), 'infinity')
     group by 1 order by 1`,
    [of.projectId, of.endpointIds, wanted.fromMs, wanted.toMs, wanted.interval],
  );
}
