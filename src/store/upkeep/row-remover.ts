import { firstIdAt } from '../../domain/ids.ts';
import { WriteError } from '../../platform/whole-file.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { withinBytes } from './export-rows.ts';
import { IS_COPIED_HERE } from './needed-partitions.ts';
import { detachedPartitions, type Partition, partitionBounds } from './partitions.ts';
import { type RemovalOptions, type RemovedPartitions, removePartitions } from './remove-partitions.ts';
import { RemovedRowFiles } from './removed-row-files.ts';
import { pagesOfPartition, pagesOfProject, type RowKey } from './row-pages.ts';

/**
 * Which rows may be removed one by one. Rows stay that an open delivery needs, and those of a failed one that holds its
 * ordering key, because a resend of it ends the hold. Events come after the deliveries, with which they stay.
 */
const ENDED = `e.status in ('Success', 'Failure', 'Discarded')`;
/** The offset keeps the look-up by index: a join might read the deliveries of all partitions. */
const UNUSED = `not exists (
    select from event_deliveries d where d.event_id = e.id and d.project_id = e.project_id offset 0)
  and not exists (select from expansions x where x.event_id = e.id and x.project_id = e.project_id)`;
const HOLDS_NO_KEY = `not exists (select from ordering_keys k
  where k.project_id = e.project_id and k.head_id = e.id and k.held_at is not null)`;

interface RemovableRows {
  table: 'event_deliveries' | 'events' | 'meta_events';
  /** The size of a row `e`. */
  bytes: string;
  /** A row `e` that may go, as far as it is known without its lock. */
  mayGo: string;
  /** Asked under the lock, of a key `e`. */
  isFree: string;
}

const REMOVABLE_ROWS: readonly RemovableRows[] = [
  {
    table: 'event_deliveries',
    bytes: `coalesce(octet_length(e.body), 0) + coalesce((
      select sum(octet_length(a.response_body)) from delivery_attempts a
      where a.project_id = e.project_id and a.delivery_id = e.id), 0)`,
    mayGo: ENDED,
    isFree: HOLDS_NO_KEY,
  },
  { table: 'events', bytes: 'octet_length(e.payload)', mayGo: UNUSED, isFree: UNUSED },
  { table: 'meta_events', bytes: 'octet_length(e.payload)', mayGo: ENDED, isFree: 'true' },
];

/**
 * Removes expired rows one by one, where the rows of a partition do not expire together: those of a project with its own
 * retention, and those of a partition in which other rows must stay. Attempts go with their
 * delivery, and idempotency keys with their event.
 *
 * Each page of rows is one transaction, which locks the rows that may go, so that none is reopened or replayed, asks
 * again whether they may, and deletes them. A locked row is left for the next run.
 */
const CHUNK_BYTES = 16_777_216;

const KEYS = 'unnest($1::text[], $2::text[]) as c (project_id, id)';
/** Joins rows to the keys. With the range of their ids the planner looks at few partitions. */
const isKey = (column: string) => `${byKey(column, 'c.id')} and ${column} between $3 and $4`;

function columnsOf(keys: readonly RowKey[]): [string[], string[]] {
  return [keys.map((key) => key.project_id), keys.map((key) => key.id)];
}

function valuesOf(keys: readonly RowKey[]): unknown[] {
  const [projects, ids] = columnsOf(keys);
  const inOrder = ids.toSorted();
  return [projects, ids, inOrder[0], inOrder.at(-1)];
}

const isSame = (a: RowKey, b: RowKey) => a.id === b.id && a.project_id === b.project_id;

export class RowRemover {
  readonly #options: RemovalOptions;
  readonly #files: RemovedRowFiles;
  readonly #removable: readonly RemovableRows[];

  private constructor(options: RemovalOptions, files: RemovedRowFiles, removable: readonly RemovableRows[]) {
    this.#options = options;
    this.#files = files;
    this.#removable = removable;
  }

  /** Leaves events alone while deliveries cannot be seen, because their partition is half gone. */
  static async open(options: RemovalOptions): Promise<RowRemover> {
    const { db, exportDirectory } = options;
    const pending = (await partitionBounds(db)).filter(({ state }) => state === 'pending');
    const hidden = [...pending, ...(await detachedPartitions(db))];
    const areHidden = hidden.some(({ table }) => table === 'event_deliveries');
    const removable = REMOVABLE_ROWS.filter(({ table }) => table !== 'events' || !areHidden);
    return new RowRemover(options, await RemovedRowFiles.open(db, exportDirectory), removable);
  }

  /** Removes rows of a project below an id. */
  async removeOfProject(projectId: string, below: string): Promise<void> {
    for (const rows of this.#removable) {
      const pages = pagesOfProject(this.#options.db, rows.table, { projectId, below });
      await this.#remove(rows, projectId, pages);
    }
  }

  /** Removes rows of all projects from partitions that stay. */
  async removeOfPartitions(partitions: readonly Partition[]): Promise<void> {
    for (const { name } of partitions) await this.#files.removeFileOf(name);
    for (const rows of this.#removable)
      for (const partition of partitions.filter(({ table }) => table === rows.table)) {
        const owner = partition.name.slice(rows.table.length + 1);
        await this.#remove(rows, owner, pagesOfPartition(this.#options.db, partition));
      }
  }

  /** The owner of the rows names the files. */
  async #remove(rows: RemovableRows, owner: string, pages: AsyncIterable<RowKey[]>): Promise<void> {
    const { db, signal } = this.#options;
    if (signal.aborted) return;
    for await (const page of pages) {
      for (let done = 0; done < page.length && !signal.aborted; ) {
        const rest = page.slice(done);
        done += await db.transaction((tx) => this.#removePage(tx, rows, { owner, page: rest }));
      }
      if (signal.aborted) return;
    }
  }

  /** Returns how many rows were looked at: not all, if the page has too many bytes for one chunk. */
  async #removePage(
    tx: Queryable,
    rows: RemovableRows,
    of: { owner: string; page: readonly RowKey[] },
  ): Promise<number> {
    const ended = await tx.query<RowKey & { bytes: number }>(
      `select e.project_id, e.id, (${rows.bytes})::float8 as bytes
       from ${KEYS} join ${rows.table} e on ${isKey('e.id')}
       where ${rows.mayGo} order by e.project_id, e.id for update of e skip locked`,
      valuesOf(of.page),
    );
    const locked = withinBytes(ended, CHUNK_BYTES);
    if (locked.length === 0) return of.page.length;
    const free = await tx.query<RowKey>(
      `select e.project_id, e.id from unnest($1::text[], $2::text[]) e (project_id, id) where ${rows.isFree}
         and not ${IS_COPIED_HERE}
       order by e.project_id collate "C", e.id collate "C"`,
      columnsOf(locked),
    );
    const [first] = free;
    if (first !== undefined) await this.#removeFree(tx, rows.table, { ...of, free, first });
    const next = ended[locked.length];
    return next === undefined ? of.page.length : of.page.findIndex((key) => isSame(key, next));
  }

  async #removeFree(
    tx: Queryable,
    table: RemovableRows['table'],
    { free, ...file }: { owner: string; page: readonly RowKey[]; free: readonly RowKey[]; first: RowKey },
  ): Promise<void> {
    const remove = async (from: string, column: string) => {
      const rows = await tx.query<object>(
        `delete from ${from} e using ${KEYS} where ${isKey(`e.${column}`)} returning ${this.#files.columns(from)}`,
        valuesOf(free),
      );
      await this.#files.write({ table: from, ...file }, rows);
    };
    if (table === 'events') await removeIdempotencyKeys(tx, free);
    await remove(table, 'id');
    if (table === 'event_deliveries') await remove('delivery_attempts', 'delivery_id');
  }
}

async function removeIdempotencyKeys(tx: Queryable, events: readonly RowKey[]): Promise<void> {
  await tx.query(
    `delete from event_keys k using ${KEYS} join events e on ${isKey('e.id')}
     where ${byKey('k.key', 'e.idempotency_key')} and k.event_id = e.id`,
    valuesOf(events),
  );
}

/**
 * Removes data older than the retention. A partition goes as a whole if no open delivery needs it. Otherwise the rows go
 * that none needs, so that a delivery that waits for weeks does not keep the history of all projects. An open delivery
 * is never removed, nor its event and attempts.
 */
export async function removeExpired(
  options: RemovalOptions,
  before: { ms: number },
): Promise<RemovedPartitions> {
  const result = await removePartitions(options, firstIdAt(before.ms));
  if (result.exportProblem !== null) return result;
  try {
    if (result.needed.length > 0) await (await RowRemover.open(options)).removeOfPartitions(result.needed);
    return result;
  } catch (error) {
    if (error instanceof WriteError) return { ...result, exportProblem: error.message };
    throw error;
  }
}
