import type { Database } from '../database/database.ts';

/**
 * Adds counters of endpoints to their totals, so that a list of endpoints reads a total and the counters of the last
 * minutes, and not those of the whole retention. A counter is added once: the total says up to which minute it has
 * them. Nothing is written to a minute that is 10 min old, because a statement that finishes deliveries ends after 8 s.
 *
 * It runs before counters are removed, so totals outlive the retention. It reads some endpoints at a time, each by its
 * key. The lock orders it with another node's run, and readers do not wait for it.
 */
const CHUNK = 500;
const SETTLED = "date_trunc('minute', now() - interval '10 minutes')";

const ADD_UP = `
with chunk as materialized (
  select id from endpoints where id > $1 order by id limit ${CHUNK}
), added as (
  insert into endpoint_totals (endpoint_id, deliveries, until)
  select chunk.id, counted.deliveries, ${SETTLED}
  from chunk left join endpoint_totals t on t.endpoint_id = chunk.id
  cross join lateral (
    select sum(deliveries) as deliveries from endpoint_counters
    where endpoint_id = chunk.id and minute >= coalesce(t.until, '-infinity') and minute < ${SETTLED}
  ) counted
  where counted.deliveries is not null
  on conflict (endpoint_id) do update
  set deliveries = endpoint_totals.deliveries + excluded.deliveries, until = excluded.until
)
select max(id) as last, count(*)::int as count from chunk`;

export async function addUpCounters(db: Database, signal: AbortSignal): Promise<void> {
  let after = '';
  let count: number;
  do {
    if (signal.aborted) return;
    const [chunk] = await db.transaction(async (tx) => {
      await tx.query('lock table endpoint_totals in exclusive mode');
      return tx.query<{ last: string | null; count: number }>(ADD_UP, [after]);
    });
    count = chunk?.count ?? 0;
    after = chunk?.last ?? after;
  } while (count === CHUNK);
}
