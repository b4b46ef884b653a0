import type { Queryable } from '../database/database.ts';
import { type CountStep, LENGTH } from './read-counts.ts';
import { TOTALS, type Totals } from './subjects.ts';

export interface EndpointWindow extends Totals {
  /** The start of the last step with an attempt that succeeded. */
  last_success: number | null;
}

/** Counts of each endpoint in a range, of those that have any. */
export async function endpointsInRange(
  db: Queryable,
  projectId: string,
  asked: { endpointIds: readonly string[]; step: CountStep; fromMs: number; toMs: number },
): Promise<Map<string, EndpointWindow>> {
  const own = TOTALS.filter((name) => name !== 'accepted').join(', ');
  const rows = await db.query<EndpointWindow & { id: string }>(
    `select id, ${TOTALS.map((name) => `sum(${name})::bigint as ${name}`).join(', ')},
       max(start) filter (where attempts > failed_attempts) as last_success from (
       select subject_id as id, start, accepted, ${own} from traffic
       where project_id = $1 and subject_id = any($2) and step = $3
       union all
       select endpoint_id, minute, deliveries, ${own} from recent_counts
       where project_id = $1 and endpoint_id = any($2)
     ) counted
     where start >= to_timestamp($4::float8 / 1000) and start < to_timestamp($5::float8 / 1000) group by 1`,
    [projectId, asked.endpointIds, LENGTH[asked.step], asked.fromMs, asked.toMs],
  );
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}

/** The last failure of an endpoint within the last hour, and what succeeded since. Times are whole minutes. */
export interface LastTrouble {
  last_failed: number;
  /** Null: nothing has succeeded after that minute. */
  since: number | null;
  succeeded: number;
}

/** Endpoints without a failed attempt in the last hour are left out. */
export async function lastTroubles(
  db: Queryable,
  projectId: string,
  endpointIds: readonly string[],
): Promise<Map<string, LastTrouble>> {
  const rows = await db.query<LastTrouble & { id: string }>(
    `with minutes as materialized (
       select subject_id as id, start, attempts, failed_attempts from traffic
       where project_id = $1 and subject_id = any($2) and step = ${LENGTH.minute} and start > now() - interval '1 hour'
       union all
       select endpoint_id, minute, attempts, failed_attempts from recent_counts
       where project_id = $1 and endpoint_id = any($2) and minute > now() - interval '1 hour'
     ), failed as (
       select id, max(start) as last_failed from minutes where failed_attempts > 0 group by id
     )
     select id, last_failed, min(start) filter (where is_after) as since,
       coalesce(sum(attempts) filter (where is_after), 0)::int as succeeded
     from (
       select *, attempts > 0 and start > last_failed as is_after from failed join minutes using (id)
     ) m group by id, last_failed`,
    [projectId, endpointIds],
  );
  return new Map(rows.map(({ id, ...trouble }) => [id, trouble]));
}

export interface FailingRun {
  /** The minute of the last attempt that succeeded. */
  last_success: number | null;
  /** The first minute after it in which attempts failed. Null: none did. */
  since: number | null;
}

/**
 * Since when every attempt of an endpoint failed, in whole minutes of the last two days. The hour of the last success is
 * found first: an endpoint that is dead for two days has 48 rows of hours and 2,880 of minutes.
 */
export async function failingRuns(
  db: Queryable,
  projectId: string,
  endpointIds: readonly string[],
): Promise<Map<string, FailingRun>> {
  const stored = (step: CountStep) =>
    `select start from traffic where project_id = $1 and subject_id = e.id and step = ${LENGTH[step]}`;
  const recent = 'recent_counts where project_id = $1 and endpoint_id = e.id';
  const rows = await db.query<FailingRun & { id: string }>(
    `select e.id, succeeded.last_success, failed.since from unnest($2::text[]) e(id)
     cross join lateral (
       select greatest(
         (select m.start from (
            ${stored('hour')} and attempts > failed_attempts and start > now() - interval '49 hours'
            order by start desc limit 1
          ) h cross join lateral (
            ${stored('minute')} and attempts > failed_attempts and start >= h.start and start < h.start + interval '1 hour'
            order by start desc limit 1
          ) m),
         (select max(minute) from ${recent} and attempts > failed_attempts)) as last_success
     ) succeeded
     cross join lateral (select coalesce(succeeded.last_success, '-infinity') as time) after
     cross join lateral (
       select least(
         (${stored('minute')} and failed_attempts > 0 and start > after.time order by start limit 1),
         (select min(minute) from ${recent} and failed_attempts > 0 and minute > after.time)) as since
     ) failed`,
    [projectId, endpointIds],
  );
  return new Map(rows.map(({ id, ...run }) => [id, run]));
}
