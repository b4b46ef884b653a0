import type { Queryable } from './database.ts';

/** Null stands for an open end. Whole minutes: that is how attempts are counted. */
export interface Period {
  fromMs: number | null;
  toMs: number | null;
}

const WITHIN = `minute >= coalesce(date_trunc('minute', to_timestamp($2::float8 / 1000)), '-infinity')
  and minute <= coalesce(to_timestamp($3::float8 / 1000), 'infinity')`;

export type Interval = 'day' | 'week' | 'month' | 'year';

export interface IntervalCounts {
  start: number;
  deliveries: number;
  successes: number;
  failures: number;
}

/** Deliveries and attempts of endpoints, per day, week, month or year (UTC), oldest first; empty ones left out. */
export function countsPerInterval(
  db: Queryable,
  endpointIds: readonly string[],
  wanted: Period & { interval: Interval },
): Promise<IntervalCounts[]> {
  return db.query<IntervalCounts>(
    `select date_trunc($4, minute, 'UTC') as start, sum(deliveries)::int as deliveries,
       sum(successes)::int as successes, sum(failures)::int as failures
     from endpoint_counters where endpoint_id = any($1) and ${WITHIN} group by 1 order by 1`,
    [endpointIds, wanted.fromMs, wanted.toMs, wanted.interval],
  );
}
