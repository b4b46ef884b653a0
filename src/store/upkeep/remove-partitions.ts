import { WriteError } from '../../platform/gzip-file.ts';
import type { Database, Queryable } from '../database/database.ts';
import { exportPartition, isWhollyExported } from './export-partition.ts';
import { detachedPartitions, type Partition, type PartitionedTable, partitionBounds } from './partitions.ts';
import { inTime } from './upkeep-lock.ts';

/**
 * Removes partitions as wholes. One goes through these states, each found again by the next run, should the node be
 * killed in it:
 *
 *   attached -> exported: if that is wanted; still in use, and a mark on it says as of when it was written
 *   exported -> pending:  queries no longer see it; waits for transactions that may have seen it
 *   pending  -> detached: a table of its own that nothing changes any more
 *   detached -> attached: something in it was opened again before it was detached, or its file does not have every row
 *   detached -> dropped:  after its idempotency keys were removed
 *
 * Nothing here takes a lock that accepting, claiming or finishing could wait for: detaching holds no lock on the
 * parent while it waits, and locks the partition only once nobody's plans have it. Waits are short (upkeep-lock.ts):
 * behind a long read the partition stays as it is until the next run.
 */
export interface RemovalOptions {
  db: Database;
  /** Holds the lock of upkeep. */
  session: Queryable;
  signal: AbortSignal;
  /** Where to write what is removed; empty: nowhere. */
  exportDirectory: string;
}

export interface RemovedPartitions {
  removed: string[];
  /** Still there because of a transaction that may read them. */
  waiting: string[];
  /** Why the export, and with it the removal, stopped. */
  exportProblem: string | null;
}

/** What depends on others goes first, so that an interrupted run leaves no delivery without its event. */
const ORDER: readonly PartitionedTable[] = ['delivery_attempts', 'event_deliveries', 'events', 'meta_events'];
const KEYS_CHUNK = 10_000;

/** Removes what lies below an id, and whatever an earlier run began to remove. */
export async function removePartitions(options: RemovalOptions, below: string): Promise<RemovedPartitions> {
  const attached = await partitionBounds(options.db);
  const leaving = [
    ...(await detachedPartitions(options.db)),
    ...attached.filter(({ state }) => state === 'pending'),
    ...attached.filter(({ state, to }) => state === 'attached' && to <= below),
  ];
  const result: RemovedPartitions = { removed: [], waiting: [], exportProblem: null };
  for (const table of ORDER) {
    for (const partition of leaving.filter((one) => one.table === table)) {
      if (options.signal.aborted) return result;
      const end = await removeOrSayWhy(options, partition);
      if (end instanceof WriteError) return { ...result, exportProblem: end.message };
      if (end === 'removed') result.removed.push(partition.name);
      if (end !== 'waiting') continue;
      result.waiting.push(partition.name);
      // A table can have only one partition half detached.
      break;
    }
  }
  return result;
}

type End = 'removed' | 'kept' | 'waiting' | 'stopped';

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
  if (toExport && partition.state === 'attached') {
    const to = { directory: exportDirectory, signal };
    const exported = await exportPartition({ db, session }, partition, to);
    if (exported !== 'done') return exported;
  }
  if (!(await isDetached(session, partition))) return 'waiting';
  if ((await isNeeded(db, partition)) || (toExport && !(await isWhollyExported(db, name))))
    return (await attachAgain(session, partition)) ? 'kept' : 'waiting';
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

/**
 * Whether something open needs the partition: resent or replayed after it was found to be of no more use. Reads the
 * queue once, whatever its project: 100,000 waiting rows take 20 ms, for each partition that goes.
 */
async function isNeeded(db: Database, { from, to }: Partition): Promise<boolean> {
  const [row] = await db.query<{ needed: boolean }>(
    `select exists (select from delivery_queue
         where (delivery_id >= $1 and delivery_id < $2) or (event_id >= $1 and event_id < $2))
       or exists (select from expansions where event_id >= $1 and event_id < $2) as needed`,
    [from, to],
  );
  return row?.needed === true;
}

/** No rows are read: the check that detaching left says that they fit. */
function attachAgain(session: Queryable, { table, name, from, to }: Partition): Promise<boolean> {
  return inTime(
    session,
    `alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`,
  );
}

/** Idempotency keys go with the events they belong to. */
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
