import { type Batch, MAX_BATCH } from '../../domain/config/batch.ts';
import { BATCH_LANE, LANE } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/** A subscription with rows that wait for their batch (form-batches.ts). */
export interface Collected {
  key: string;
  batch: Batch;
  /** The state at the last look. Null: there was none. */
  seen: Seen | null;
}

/** The state of a subscription's due rows, counted up to its limits. With MOST_WAITING batches they are not counted. */
export interface Seen {
  /** With those behind them in ordering keys, as `bytes`. */
  count: number;
  /** Null: they were not read, as a batch can be made without. */
  bytes: number | null;
  /** When the last of them became due, in seconds since 1970: together with `count` it tells whether others have come. */
  newestAt: number;
  /** Until the first of them has waited long enough. 0: they wait for nothing. */
  waitMs: number;
  /** Batches of it that are due and wait for a node. */
  backlog: number;
  /** Some have yet to take their places in ordering keys. Their subscription may have no ordering any more. */
  hasUnplaced: boolean;
}

/** More batches than this need not wait for a node: the rows wait as well without one, and fill it better. */
export const MOST_WAITING = 8;

/** So many batches of a subscription are made at once at most: together they have no more deliveries than the largest one. */
const atOnce = ({ max }: Batch): number => Math.max(1, Math.min(MOST_WAITING, Math.floor(MAX_BATCH / max)));

/** So many rows of each lane are counted. */
export const mostRows = (batch: Batch): number => batch.max * atOnce(batch);

/** How many batches are made of rows that were seen. */
export const batchesOf = ({ count, backlog }: Seen, batch: Batch): number =>
  Math.min(atOnce(batch), MOST_WAITING - backlog, Math.ceil(count / batch.max));

const look = new Parameters<readonly Collected[]>();
const looked = look.rows(
  (rows) => rows,
  [
    ['key', 'id', (r) => r.key],
    ['max', 'int', (r) => r.batch.max],
    ['most', 'int', (r) => mostRows(r.batch)],
    ['max_wait_ms', 'float8', (r) => r.batch.max_wait_seconds * 1000],
    ['seen_count', 'int', (r) => r.seen?.count ?? null],
    ['seen_bytes', 'float8', (r) => r.seen?.bytes ?? null],
    ['seen_newest', 'float8', (r) => r.seen?.newestAt ?? null],
  ],
);

/** Lane by lane, because the index has the rows of a key in that order. */
export const LANES = `unnest(array[${[LANE.first, LANE.retry, LANE.replay].join(', ')}]) as l(lane)`;
export const DUE = 'node_id is null and due_at <= now()';

/**
 * Behind enough batches the rows are not counted. Their bytes are read only if they may make the difference: of 999 rows that
 * takes 9 of 10.5 ms. The length of a stored value is known without reading it. A row that was in a batch before has waited.
 * One with a row of another queue key behind it waits for nothing: what comes later in its ordering key cannot join.
 */
const LOOK = `
select w.key, waiting.backlog, seen.*
from ${looked.as('w')} cross join lateral (
  select count(*)::int as backlog from (
    select from delivery_queue where key = w.key and lane = ${BATCH_LANE.formed} and ${DUE} limit ${MOST_WAITING}) b
) waiting cross join lateral (
  with due as materialized (
    select q.* from ${LANES} cross join lateral (
      select project_id, delivery_id, event_id, due_at, ordering_id, place, batch_id from delivery_queue
      where key = w.key and lane = l.lane and ${DUE} and waiting.backlog < ${MOST_WAITING} order by due_at limit w.most
    ) q
  ), behind as materialized (
    select b.* from due cross join lateral (
      select project_id, delivery_id from ordered_deliveries
      where project_id = due.project_id and ordering_id = due.ordering_id order by place limit w.max
    ) b where due.ordering_id is not null limit w.max
  ), counted as materialized (
    select count(*)::int + (select count(*)::int from behind) as count,
      coalesce(extract(epoch from max(due_at)), 0)::float8 as "newestAt",
      case when bool_or(batch_id is not null) then 0
        else coalesce(w.max_wait_ms - extract(epoch from now() - min(due_at)) * 1000, 0) end::float8 as "waitMs",
      coalesce(bool_or(ordering_id is not null and place is null), false) as "hasUnplaced"
    from due
  )
  select count, "newestAt", "hasUnplaced", case when is_followed then 0 else "waitMs" end as "waitMs", case
    when is_enough or is_followed then null
    when is_known then w.seen_bytes
    else (
      select coalesce(sum(octet_length(coalesce(d.body, e.payload))), 0)::float8
      from (
        select project_id, delivery_id, event_id from due
        union all
        select n.project_id, n.delivery_id, n.event_id
        from behind join delivery_queue n on ${byKey('n.delivery_id', 'behind.delivery_id')}
      ) q
      join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
      join events e on ${byKey('e.id', 'q.event_id')}
    ) end as bytes
  from counted cross join lateral (
    select count >= w.max or "waitMs" <= 0 as is_enough,
      coalesce(count = w.seen_count and "newestAt" = w.seen_newest and w.seen_bytes is not null, false) as is_known
  ) cheap cross join lateral (
    select case when is_enough or is_known then false else exists (
      select from behind join delivery_queue n on ${byKey('n.delivery_id', 'behind.delivery_id')}
      where n.key <> w.key) end as is_followed
  ) dear
) seen`;

export async function lookAtCollected(db: Database, rows: readonly Collected[]): Promise<Map<string, Seen>> {
  const seen = await db.hot<Seen & { key: string }>('look-at-collected', LOOK, look.values(rows));
  return new Map(seen.map((row) => [row.key, row]));
}
