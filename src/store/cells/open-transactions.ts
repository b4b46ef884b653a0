import type { Queryable } from '../database/database.ts';
import { registry } from './registry.ts';

/**
 * The transactions that may write rows of a project and began before now. A statement locks its tables before it takes its
 * snapshot. So one that does not know of a commit yet has its locks by then, and is found here. No lock is asked for,
 * because everything else would wait behind it.
 */
const TABLES = Object.entries(registry).flatMap(([table, { how }]) => (how === 'stays' ? [] : [table]));

export async function writersNow(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select distinct virtualtransaction as id from pg_locks
     where locktype = 'relation' and relation = any($1::regclass[]) and granted and pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())
       and mode in ('RowShareLock', 'RowExclusiveLock')`,
    [`{${TABLES.join(',')}}`],
  );
  return rows.map(({ id }) => id);
}

/** How many of the transactions have not ended. */
export async function stillOpen(db: Queryable, transactions: readonly string[]): Promise<number> {
  if (transactions.length === 0) return 0;
  const rows = await db.query(
    'select distinct virtualtransaction from pg_locks where virtualtransaction = any($1)',
    [transactions],
  );
  return rows.length;
}

/** Tables whose ids are given with time. Those of config are older than the audit entry of their change. */
const DATED = ['events', 'event_deliveries', 'meta_events', 'audit_entries', 'jobs'];

/** The newest id that a project has. Null: none. */
export async function newestId(db: Queryable, projectId: string): Promise<string | null> {
  const [row] = await db.query<{ id: string | null }>(
    `select max(id collate "C") as id from (${DATED.map(
      (table) => `select max(id) as id from ${table} where project_id = $1`,
    ).join(' union all ')}) newest`,
    [projectId],
  );
  return row?.id ?? null;
}
