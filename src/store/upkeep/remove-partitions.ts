import { WriteError } from '../../platform/whole-file.ts';
import type { Database, Queryable } from '../database/database.ts';
import { exportPartition, isWhollyExported } from './export-partition.ts';
import { isNeeded } from './needed-partitions.ts';
import { detachedPartitions, type Partition, type PartitionedTable, partitionBounds } from './partitions.ts';
import { inTime } from './upkeep-lock.ts';

/**
 * Removes whole partitions. A partition goes through these states. If the node is killed, the next run
 * continues from any of them:
 *   attached -> attached: an open delivery needs it
 *   attached -> exported: if an export is configured; still in use, and a mark on it records the start of the export
 *   exported -> pending:  queries no longer see it; waits for transactions that may have seen it
 *   pending  -> detached: a separate table that no longer changes
 *   detached -> attached: a delivery in it was reopened before the detach, or its file does not have every row
 *   detached -> dropped:  after its idempotency keys were removed
 *
 * No step takes a lock that accept, claim or finish could wait for: detaching holds no lock on the parent
 * while it waits, and locks the partition only once no plan uses it. Waits are short (upkeep-lock.ts). Behind
 * a long read the partition stays as it is until the next run.
 */
export interface RemovalOptions {
  db: Database;
  /** Has the upkeep lock. */
  session: Queryable;
  signal: AbortSignal;
  /** The export directory. Empty: no export. */
  exportDirectory: string;
}

export interface RemovedPartitions {
  removed: string[];
  /** Not removed yet, because a transaction may still read them. */
  waiting: string[];
  /** Expired, but some of their rows must stay. */
  needed: Partition[];
  /** Why the export, and with it the removal, stopped. */
  exportProblem: string | null;
}

/** Dependent tables go first, so that an interrupted run leaves no delivery without its event. */
const ORDER: readonly PartitionedTable[] = ['delivery_attempts', 'event_deliveries', 'events', 'meta_events'];
const KEYS_CHUNK = 10_000;

/** Removes partitions below an id, and finishes removals that an earlier run began. */
export async function removePartitions(options: RemovalOptions, below: string): Promise<RemovedPartitions> {
  const attached = await partitionBounds(options.db);
  const leaving = [
    ...(await detachedPartitions(options.db)),
    ...attached.filter(({ state }) => state === 'pending'),
    ...attached.filter(({ state, to }) => state === 'attached' && to <= below),
  ];
  const result: RemovedPartitions = { removed: [], waiting: [], needed: [], exportProblem: null };
  for (const table of ORDER) {
    for (const partition of leaving.filter((one) => one.table === table)) {
      if (options.signal.aborted) return result;
      const end = await removeOrSayWhy(options, partition);
      if (end instanceof WriteError) return { ...result, exportProblem: end.message };
      if (end === 'removed') result.removed.push(partition.name);
      if (end === 'needed' && partition.to <= below) result.needed.push(partition);
      if (end !== 'waiting') continue;
      result.waiting.push(partition.name);
      // A table can have only one partition with a pending detach.
      break;
    }
  }
  return result;
}

type End = 'removed' | 'needed' | 'kept' | 'waiting' | 'stopped';

async function removeOrSayWhy(options: RemovalOptions, partition: Partition): Promise<End | WriteError> {
  try {
    return await remove(options, partition);
  } catch (error) {
    if (error instanceof WriteError) return error;
    throw error;
  }
}

async function remove(options: RemovalOptions, partition: Partition): Promise<End> {
  const { db, session, signal, exportDirectory } = options;
  const { table, name } = partition;
  const toExport = exportDirectory !== '';
  if (partition.state === 'attached' && (await isNeeded(db, partition))) return 'needed';
  if (toExport && partition.state === 'attached') {
    const to = { directory: exportDirectory, signal };
    const exported = await exportPartition({ db, session }, partition, to);
    if (exported !== 'done') return exported;
  }
  if (!(await isDetached(session, partition))) return 'waiting';
  const isOpen = await isNeeded(db, partition);
  if (isOpen || (toExport && !(await isWhollyExported(db, name)))) {
    const end = isOpen ? 'needed' : 'kept';
    return (await attachAgain(session, partition)) ? end : 'waiting';
  }
  if (table === 'events') await removeKeys(db, name);
  return (await inTime(session, `drop table ${name}`)) ? 'removed' : 'waiting';
}

function isDetached(session: Queryable, { table, name, state }: Partition): Promise<boolean> {
  switch (state) {
    case 'detached':
      return Promise.resolve(true);
    case 'pending':
      return inTime(session, `alter table ${table} detach partition ${name} finalize`);
    case 'attached':
      return inTime(session, `alter table ${table} detach partition ${name} concurrently`);
  }
}

/** Idempotency keys are removed with their events. */
async function removeKeys(db: Database, events: string): Promise<void> {
  let after: { project_id: string; id: string } | undefined = { project_id: '', id: '' };
  while (after !== undefined) {
    const [last]: (typeof after)[] = await db.query(
      `with chunk as materialized (
         select id, project_id, idempotency_key from ${events} where (project_id, id) > ($1, $2)
         order by project_id, id limit ${KEYS_CHUNK}
       ), gone as (
         delete from event_keys k using chunk c
         where k.project_id = c.project_id and k.key = c.idempotency_key and k.event_id = c.id
       )
       select project_id, id from chunk order by project_id desc, id desc limit 1`,
      [after.project_id, after.id],
    );
    after = last;
  }
}

/**
 * Attaches a partition again that was detached and not dropped. No rows are read: the check that the detach left proves
 * that they fit. False: other transactions blocked it for too long.
 */
async function attachAgain(session: Queryable, partition: Partition): Promise<boolean> {
  const { table, name, from, to } = partition;
  const changes = await columnChanges(session, partition);
  if (changes.length > 0 && !(await inTime(session, `alter table ${name} ${changes.join(', ')}`)))
    return false;
  return inTime(
    session,
    `alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`,
  );
}

/** A migration does not reach a detached table, so it lacks columns that were added since, and has those that were removed. */
async function columnChanges(session: Queryable, { table, name }: Partition): Promise<string[]> {
  const rows = await session.query<{ change: string }>(
    `with columns as (
       select attrelid, attname, atttypid, atttypmod, attcollation, attnotnull, attnum from pg_attribute
       where attrelid in ($1::regclass, $2::regclass) and attnum > 0 and not attisdropped
     )
     select concat_ws(' ', 'add column', quote_ident(attname), format_type(atttypid, atttypmod),
         'collate ' || quote_ident(l.collname), 'default ' || pg_get_expr(d.adbin, d.adrelid),
         case when attnotnull then 'not null' end) as change
     from columns c left join pg_attrdef d on d.adrelid = attrelid and d.adnum = c.attnum
       left join pg_collation l on l.oid = attcollation
     where attrelid = $1::regclass and attname not in (select attname from columns where attrelid = $2::regclass)
     union all
     select 'drop column ' || quote_ident(attname) from columns
     where attrelid = $2::regclass and attname not in (select attname from columns where attrelid = $1::regclass)`,
    [table, name],
  );
  return rows.map(({ change }) => change);
}
