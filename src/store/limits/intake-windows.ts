import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/**
 * Admits events of limited projects and sources: for each, as many as leave at most `maxEvents` in any
 * interval of `seconds`. There is one row per project or source, so that all nodes count together. Rows are
 * locked in key order. Round trips: 1, for any number of rows.
 *
 * A row stores the events admitted within the last `seconds`, in slots of a sixtieth of that: the time of a
 * slot's newest event and its count. A slot counts until its newest event is old enough, so the limit is
 * never exceeded, and a place becomes free a sixtieth late at most. Times are the server's, read after the
 * row is locked.
 *
 * A negative `wanted` returns places that were taken and not used.
 */
export interface WindowRequest {
  /** Id of the project or the source. */
  key: string;
  wanted: number;
  maxEvents: number;
  seconds: number;
}

const take = new Parameters<readonly WindowRequest[]>();
const asked = take.rows(
  (requests) => requests,
  [
    ['key', 'id', (r) => r.key],
    ['wanted', 'bigint', (r) => r.wanted],
    ['max_events', 'bigint', (r) => r.maxEvents],
    ['seconds', 'int', (r) => r.seconds],
  ],
);

const NOW = 'extract(epoch from clock_timestamp())::float8';

/** Row `w` and the request `excluded`: its new columns. In `excluded`, granted is the number wanted. */
const NEXT = `
  select times, counts, granted
  from (select ${NOW} as at) clock
  cross join lateral (
    select coalesce(array_agg(t order by t), '{}') as old_times, coalesce(array_agg(n order by t), '{}') as old_counts,
      coalesce(sum(n), 0)::bigint as used
    from unnest(w.times, w.counts) as slot(t, n) where t > clock.at - excluded.seconds and n > 0
  ) live
  cross join lateral (
    select cardinality(old_times) as last, least(excluded.granted, greatest(0, excluded.max_events - used)) as granted
  ) room
  cross join lateral (
    select granted > 0
      and floor(old_times[last] * 60 / excluded.seconds) is distinct from floor(clock.at * 60 / excluded.seconds) as is_new
  ) slot
  cross join lateral (
    select
      case when granted = 0 then old_times
        when is_new then old_times || clock.at
        when granted > 0 then old_times[:last - 1] || greatest(clock.at, old_times[last])
        else old_times end as times,
      case when granted = 0 then old_counts
        when is_new then old_counts || granted
        when last = 0 then old_counts
        else old_counts[:last - 1] || greatest(0, old_counts[last] + granted) end as counts
  ) next`;

const TAKE = `
insert into intake_windows as w (key, max_events, seconds, granted, times, counts)
select key, max_events, seconds, least(wanted, max_events),
  case when wanted > 0 then array[${NOW}] else '{}' end,
  case when wanted > 0 then array[least(wanted, max_events)] else '{}' end
from ${asked.as('r')}
order by key
on conflict (key) do update
set max_events = excluded.max_events, seconds = excluded.seconds,
  (times, counts, granted) = (${NEXT})
returning key, granted, coalesce(times[1] + seconds - ${NOW}, 0) as ends_in_seconds`;

export interface WindowGrant {
  granted: number;
  /** Until the next place becomes free. */
  endsInSeconds: number;
}

export async function takeFromWindows(
  db: Database,
  requests: readonly WindowRequest[],
): Promise<Map<string, WindowGrant>> {
  const rows = await db.hot<{ key: string; granted: number; ends_in_seconds: number }>(
    'take-from-windows',
    TAKE,
    take.values(requests),
  );
  return new Map(rows.map((row) => [row.key, { granted: row.granted, endsInSeconds: row.ends_in_seconds }]));
}
