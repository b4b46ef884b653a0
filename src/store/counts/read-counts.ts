import type { Queryable } from '../database/database.ts';
import { SUBJECTS, TOTALS, type Totals } from './subjects.ts';

/**
 * Reads of counts. Each is one statement over what is added up and what is not yet (add-up-counts.ts), so it sees every
 * committed count once.
 */
export type CountStep = 'minute' | 'hour';

/** Minutes that one row covers. */
export const LENGTH: Record<CountStep, number> = { minute: 1, hour: 60 };

export interface CountPoint extends Totals {
  start: number;
}

export interface CountQuery {
  projectId: string;
  /** The project itself, endpoints or sources. */
  subjectIds: readonly string[];
  step: CountStep | 'day';
  fromMs: number;
  /** Exclusive. */
  toMs: number;
}

const sums = TOTALS.map((name) => `sum(${name})::bigint as ${name}`).join(', ');

/** The rows of a query. Days are made of hours. */
function rowsOf(query: CountQuery): { rows: string; values: unknown[] } {
  const within = `start >= to_timestamp($4::float8 / 1000) and start < to_timestamp($5::float8 / 1000)`;
  const start = query.step === 'day' ? "date_trunc('day', start, 'UTC')" : 'start';
  const columns = `${TOTALS.join(', ')}, buckets, bucket_counts`;
  return {
    rows: `(
      select ${start} as start, ${columns} from (
        select start, ${columns} from traffic
        where project_id = $1 and subject_id = any($2) and step = $3
        union all
        select date_trunc(case $3::int when 1 then 'minute' else 'hour' end, minute, 'UTC'), ${TOTALS.join(', ')},
          latencies, array_fill(1, array[cardinality(latencies)])
        from (${SUBJECTS('recent_counts')} and r.project_id = $1 and s.subject_id = any($2)) recent
      ) of_all where ${within}
    ) counted`,
    values: [
      query.projectId,
      query.subjectIds,
      LENGTH[query.step === 'day' ? 'hour' : query.step],
      query.fromMs,
      query.toMs,
    ],
  };
}

/** The counts of all subjects together, oldest first, without empty steps. */
export function readCounts(db: Queryable, query: CountQuery): Promise<CountPoint[]> {
  const { rows, values } = rowsOf(query);
  return db.query<CountPoint>(`select start, ${sums} from ${rows} group by 1 order by 1`, values);
}

/** Successful deliveries by start and latency bucket. */
export function readLatencies(
  db: Queryable,
  query: CountQuery,
): Promise<{ start: number; bucket: number; count: number }[]> {
  const { rows, values } = rowsOf(query);
  return db.query(
    `select start, bucket, sum(count)::bigint as count
     from ${rows} cross join lateral unnest(buckets, bucket_counts) as l(bucket, count) group by 1, 2`,
    values,
  );
}

/** The endpoints to which a delivery failed in a range of whole hours. */
export async function endpointsWithFailures(
  db: Queryable,
  projectId: string,
  wanted: { endpointIds: readonly string[]; fromMs: number; toMs: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select e.id from unnest($2::text[]) e(id) where exists (
       select from traffic t where t.project_id = $1 and t.subject_id = e.id and t.step = ${LENGTH.hour} and t.failed > 0
         and t.start >= date_trunc('hour', to_timestamp($3::float8 / 1000), 'UTC') and t.start <= to_timestamp($4::float8 / 1000)
     ) or exists (
       select from recent_counts r where r.project_id = $1 and r.endpoint_id = e.id and r.failed > 0)`,
    [projectId, wanted.endpointIds, wanted.fromMs, wanted.toMs],
  );
  return rows.map((row) => row.id);
}

export interface SeenAttempts {
  successes: number;
  failures: number;
}

/** Attempts of endpoint `e.id` per minute, of the project in $1. */
export const ATTEMPTS_PER_MINUTE = `
  select start as minute, first_attempts, attempts, failed_attempts from traffic
  where project_id = $1 and subject_id = e.id and step = 1
  union all
  select minute, first_attempts, attempts, failed_attempts from recent_counts
  where project_id = $1 and endpoint_id = e.id`;

/** Attempts of each endpoint in the last minutes and after a time, counted in whole minutes. */
export function attemptsSince(
  db: Queryable,
  projectId: string,
  asked: { endpoints: readonly { id: string; afterMs: number }[]; minutes: number },
): Promise<SeenAttempts[]> {
  const { endpoints, minutes } = asked;
  if (endpoints.length === 0) return Promise.resolve([]);
  return db.query<SeenAttempts>(
    `select coalesce(seen.attempts - seen.failed, 0)::int as successes, coalesce(seen.failed, 0)::int as failures
     from unnest($2::text[], $3::float8[]) with ordinality as e(id, after_ms, n)
     left join lateral (
       select sum(attempts) as attempts, sum(failed_attempts) as failed from (${ATTEMPTS_PER_MINUTE}) per_minute
       where minute > now() - $4 * interval '1 minute' and minute >= to_timestamp(e.after_ms / 1000)
     ) seen on true
     order by n`,
    [projectId, endpoints.map(({ id }) => id), endpoints.map(({ afterMs }) => afterMs), minutes],
  );
}

export interface EndpointCounts extends SeenAttempts {
  /** All so far. */
  deliveries: number;
}

/** Counts per endpoint: all deliveries so far, and attempts of the last minutes. */
export async function endpointCounts(
  db: Queryable,
  projectId: string,
  asked: { ids: readonly string[]; minutes: number },
): Promise<Map<string, EndpointCounts>> {
  if (asked.ids.length === 0) return new Map();
  const rows = await db.query<{ endpoint_id: string } & EndpointCounts>(
    `select e.id as endpoint_id, (coalesce(t.deliveries, 0) + coalesce(recent.deliveries, 0))::bigint as deliveries,
       coalesce(seen.attempts - seen.failed, 0)::int as successes, coalesce(seen.failed, 0)::int as failures
     from unnest($2::text[]) e(id) left join endpoint_totals t on t.endpoint_id = e.id
     cross join lateral (
       select sum(first_attempts) as deliveries from recent_counts where project_id = $1 and endpoint_id = e.id
     ) recent
     cross join lateral (
       select sum(attempts) as attempts, sum(failed_attempts) as failed from (${ATTEMPTS_PER_MINUTE}) per_minute
       where minute > now() - $3 * interval '1 minute'
     ) seen`,
    [projectId, [...new Set(asked.ids)], asked.minutes],
  );
  return new Map(rows.map((row) => [row.endpoint_id, row]));
}
