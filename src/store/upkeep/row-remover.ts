import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { withinBytes } from './export-rows.ts';
import { detachedPartitions, type Partition, partitionBounds } from './partitions.ts';
import { REMOVABLE_ROWS, type RemovableRows } from './removable-rows.ts';
import type { RemovalOptions } from './remove-partitions.ts';
import { RemovedRowFiles, type RowKey } from './removed-row-files.ts';

/**
 * Removes expired rows one by one, where the rows of a partition do not expire together: those of a project with its own
 * retention, and those of a partition in which other rows must stay (removable-rows.ts). Attempts go with their
 * delivery, and idempotency keys with their event.
 *
 * It walks the primary key in pages. Each page is one transaction, which locks the rows that may go, so that none is
 * reopened or replayed, asks again whether they may, and deletes them. A locked row is left for the next run.
 */
const PAGE_ROWS = 1_000;
const CHUNK_BYTES = 16_777_216;

/** The rows of a table after a key ($1, $2), with ids from $3 up to but not including $4. */
interface Range {
  where: string;
  from: string;
  to: string;
  /** Names the files. */
  owner: string;
}

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
    const where = 'e.project_id = $1 and e.id > $2 and e.id >= $3 and e.id < $4';
    for (const rows of this.#removable)
      await this.#walk(rows, { where, from: '', to: below, owner: projectId }, projectId);
  }

  /** Removes rows of all projects from partitions that stay. */
  async removeOfPartitions(partitions: readonly Partition[]): Promise<void> {
    const where = '(e.project_id, e.id) > ($1, $2) and e.id >= $3 and e.id < $4';
    for (const { name } of partitions) await this.#files.removeFileOf(name);
    for (const rows of this.#removable)
      for (const { table, name, from, to } of partitions) {
        const owner = name.slice(table.length + 1);
        if (table === rows.table) await this.#walk(rows, { where, from, to, owner }, '');
      }
  }

  async #walk(rows: RemovableRows, range: Range, firstProject: string): Promise<void> {
    const { db, signal } = this.#options;
    const next = `select e.project_id, e.id from ${rows.table} e where ${range.where}
      order by e.project_id, e.id limit ${PAGE_ROWS}`;
    let after: RowKey = { project_id: firstProject, id: '' };
    while (!signal.aborted) {
      const page = await db.query<RowKey>(next, [after.project_id, after.id, range.from, range.to]);
      const last = page.at(-1);
      if (last === undefined) return;
      after =
        (await db.transaction((tx) => this.#removePage(tx, rows, { owner: range.owner, page }))) ?? last;
    }
  }

  /** Returns the last row that was looked at, if the page has too many bytes for one chunk. */
  async #removePage(
    tx: Queryable,
    rows: RemovableRows,
    of: { owner: string; page: readonly RowKey[] },
  ): Promise<RowKey | undefined> {
    const ended = await tx.query<RowKey & { bytes: number }>(
      `select e.project_id, e.id, (${rows.bytes})::float8 as bytes
       from ${KEYS} join ${rows.table} e on ${isKey('e.id')}
       where ${rows.mayGo} order by e.project_id, e.id for update of e skip locked`,
      valuesOf(of.page),
    );
    const locked = withinBytes(ended, CHUNK_BYTES);
    if (locked.length === 0) return undefined;
    const free = await tx.query<RowKey>(
      `select e.project_id, e.id from unnest($1::text[], $2::text[]) e (project_id, id) where ${rows.isFree}
       order by e.project_id collate "C", e.id collate "C"`,
      columnsOf(locked),
    );
    const [first] = free;
    if (first !== undefined) await this.#removeFree(tx, rows.table, { ...of, free, first });
    return locked.length < ended.length ? locked.at(-1) : undefined;
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
