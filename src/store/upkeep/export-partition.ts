import type { Database, Queryable } from '../database/database.ts';
import { exportTable } from './export-rows.ts';
import type { Partition, PartitionedTable } from './partitions.ts';
import { inTime } from './upkeep-lock.ts';

/**
 * A partition is exported while it is in use, so that its rows stay readable until it is removed, and without
 * a lock, so that nothing waits. A comment on the table records the oldest transaction open at the start of
 * the export. After the detach, a row written by that transaction or a later one may be missing in the file.
 */
/** The primary key of each table, and the size of a row's large columns in bytes. */
const SHAPES: Record<PartitionedTable, { key: readonly string[]; bytes: string }> = {
  delivery_attempts: {
    key: ['project_id', 'delivery_id', 'id'],
    bytes: 'octet_length(record) + coalesce(octet_length(response_body), 0)',
  },
  event_deliveries: { key: ['project_id', 'id'], bytes: 'coalesce(octet_length(body), 0)' },
  events: { key: ['project_id', 'id'], bytes: 'octet_length(payload) + coalesce(octet_length(headers), 0)' },
  meta_events: { key: ['id'], bytes: 'octet_length(payload) + coalesce(octet_length(response_body), 0)' },
};

/** The check reads this many pages (256 MB) at a time, so that no statement takes long. */
const PAGES = 32_768;

/** `session` has the upkeep lock. Waiting: another statement on the table, such as a vacuum, blocks it. */
export async function exportPartition(
  { db, session }: { db: Database; session: Queryable },
  { table, name }: Partition,
  to: { directory: string; signal: AbortSignal },
): Promise<'done' | 'stopped' | 'waiting'> {
  const [begun] = await db.query<{ xid: string }>(
    'select pg_snapshot_xmin(pg_current_snapshot())::text as xid',
  );
  const isDone = await db.settledReading((from) => exportTable(from, { name, ...SHAPES[table] }, to));
  if (!isDone) return 'stopped';
  const mark = `comment on table ${name} is 'exported as of transaction ${begun?.xid}'`;
  return (await inTime(session, mark)) ? 'done' : 'waiting';
}

/** For a detached partition: whether it was exported, and no row was written since the start of the export. */
export async function isWhollyExported(db: Queryable, name: string): Promise<boolean> {
  const [table] = await db.query<{ begun: string | null; pages: number }>(
    `select substring(obj_description($1::regclass, 'pg_class') from 'exported as of transaction (\\d+)') as begun,
       (pg_relation_size($1::regclass) / current_setting('block_size')::int)::int as pages`,
    [name],
  );
  if (!table?.begun) return false;
  for (let page = 0; page < table.pages; page += PAGES)
    if (await hasNewRows(db, { name, begun: table.begun }, page)) return false;
  return true;
}

/** Rows have the lower half of their transaction's number, which wraps around after 2^32. */
async function hasNewRows(
  db: Queryable,
  { name, begun }: { name: string; begun: string },
  page: number,
): Promise<boolean> {
  const [found] = await db.query<{ yes: boolean }>(
    `select exists (
       select from ${name}
       where ctid >= $2::tid and ctid < $3::tid
         and (xmin::text::bigint - $1::bigint % 4294967296 + 4294967296) % 4294967296
           < (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) - $1::bigint
     ) as yes`,
    [begun, `(${page},0)`, `(${page + PAGES},0)`],
  );
  return found?.yes !== false;
}
