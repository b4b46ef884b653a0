import type { Database } from '../database/database.ts';
import { SUBJECTS, TOTALS } from './subjects.ts';

/**
 * Moves recent counts into the counts per minute and hour of each subject, and into the totals of endpoints. One
 * statement deletes and adds, so a count is neither lost nor counted twice. Rows that others commit meanwhile are left
 * for the next run. Another node that runs at the same time takes other rows.
 */
const CHUNK = 20_000;

const sums = (of: string) => TOTALS.map((name) => `sum(${of}.${name})::int as ${name}`).join(', ');
const added = TOTALS.map((name) => `${name} = traffic.${name} + excluded.${name}`).join(', ');

const ADD_UP = `
with moved as materialized (
  delete from recent_counts where ctid = any(array(
    select ctid from recent_counts limit ${CHUNK} for update skip locked))
  returning *
), counted as materialized (
  select s.project_id, s.subject_id, step.minutes as step,
    case step.minutes when 1 then s.minute else date_trunc('hour', s.minute, 'UTC') end as start, ${TOTALS.map((name) => `s.${name}`).join(', ')}, s.latencies
  from (${SUBJECTS('moved')}) s cross join (values (1::smallint), (60::smallint)) as step(minutes)
  -- Minutes of before are no longer kept: deliveries that are sent again leave the time of their end.
  where step.minutes = 60 or s.minute > now() - interval '2 days'
), histograms as (
  select project_id, subject_id, step, start, array_agg(bucket order by bucket) as buckets,
    array_agg(count order by bucket) as bucket_counts
  from (
    select project_id, subject_id, step, start, bucket, count(*)::int as count
    from counted cross join lateral unnest(latencies) as l(bucket) group by 1, 2, 3, 4, 5
  ) buckets
  group by 1, 2, 3, 4
), written as (
  insert into traffic (project_id, subject_id, step, start, ${TOTALS.join(', ')}, buckets, bucket_counts)
  select c.*, coalesce(h.buckets, '{}'), coalesce(h.bucket_counts, '{}')
  from (
    select project_id, subject_id, step, start, ${sums('counted')} from counted group by 1, 2, 3, 4
  ) c left join histograms h using (project_id, subject_id, step, start)
  order by project_id, subject_id, step, start
  on conflict (project_id, subject_id, step, start) do update
  set ${added}, (buckets, bucket_counts) = (
    select coalesce(array_agg(bucket order by bucket), '{}'), coalesce(array_agg(count order by bucket), '{}') from (
      select bucket, sum(count)::int as count from (
        select * from unnest(traffic.buckets, traffic.bucket_counts) as a(bucket, count)
        union all select * from unnest(excluded.buckets, excluded.bucket_counts) as b(bucket, count)
      ) both_of group by bucket
    ) summed
  )
), totals as (
  insert into endpoint_totals (endpoint_id, deliveries)
  select endpoint_id, sum(first_attempts) from moved
  where endpoint_id is not null group by endpoint_id having sum(first_attempts) > 0 order by endpoint_id
  on conflict (endpoint_id) do update set deliveries = endpoint_totals.deliveries + excluded.deliveries
)
select count(*)::int as moved from moved`;

export async function addUpCounts(db: Database, signal: AbortSignal): Promise<void> {
  let moved: number;
  do {
    if (signal.aborted) return;
    const [row] = await db.query<{ moved: number }>(ADD_UP, []);
    moved = row?.moved ?? 0;
  } while (moved === CHUNK);
}
