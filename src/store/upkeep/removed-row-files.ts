import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GzipFile, writing } from '../../platform/whole-file.ts';
import type { Queryable } from '../database/database.ts';
import { type RowFormat, rowFormat } from './export-rows.ts';
import type { RowKey } from './row-pages.ts';

/**
 * The export of rows that a chunk's statements have deleted. The files are synced before the commit, so the deleted and
 * the exported rows cannot differ. A file is named after the first row of its chunk. While that row is in the database,
 * the commit of the file has failed. The chunk that has the row then replaces or removes the file, so each row is in one
 * file.
 */
const SUFFIX = '.jsonl.gz';
const TABLES = ['event_deliveries', 'delivery_attempts', 'events', 'meta_events'];

export class RemovedRowFiles {
  readonly #directory: string;
  readonly #formats: ReadonlyMap<string, RowFormat>;
  /** Files of earlier runs by the key of their first row. */
  readonly #earlier: ReadonlyMap<string, string[]>;

  private constructor(
    directory: string,
    formats: ReadonlyMap<string, RowFormat>,
    earlier: ReadonlyMap<string, string[]>,
  ) {
    this.#directory = directory;
    this.#formats = formats;
    this.#earlier = earlier;
  }

  /** An empty directory: nothing is exported. */
  static async open(db: Queryable, directory: string): Promise<RemovedRowFiles> {
    const formats = new Map<string, RowFormat>();
    const earlier = new Map<string, string[]>();
    if (directory === '') return new RemovedRowFiles(directory, formats, earlier);
    for (const table of TABLES) formats.set(table, await rowFormat(db, table));
    for (const name of await writing(directory, () => readdir(directory))) {
      if (!name.endsWith(SUFFIX)) continue;
      const first = name.slice(0, -SUFFIX.length).split('_').slice(-2).join('_');
      earlier.set(first, [...(earlier.get(first) ?? []), name]);
    }
    return new RemovedRowFiles(directory, formats, earlier);
  }

  /** Columns of deleted rows `e` that the export needs. */
  columns(table: string): string {
    return this.#formats.get(table)?.columns ?? 'e.project_id';
  }

  /** `page`: rows that were in the database before this chunk. */
  async write(
    { table, owner, page, first }: { table: string; owner: string; page: readonly RowKey[]; first: RowKey },
    rows: readonly object[],
  ): Promise<void> {
    const format = this.#formats.get(table);
    if (format === undefined) return;
    const name = `${[table, ...new Set([owner, first.project_id]), first.id].join('_')}${SUFFIX}`;
    for (const failed of page.flatMap((key) => this.#earlier.get(`${key.project_id}_${key.id}`) ?? []))
      if (failed !== name && failed.startsWith(`${table}_`)) await this.#remove(failed);
    if (rows.length === 0) return;
    const file = await GzipFile.create(this.#directory, name);
    try {
      await file.write(rows.map(format.line).join(''));
      await file.finish();
    } finally {
      await file.discard();
    }
  }

  /** A partition that stays was exported before: its rows will be in other files. */
  async removeFileOf(partition: string): Promise<void> {
    if (this.#directory !== '') await this.#remove(`${partition}${SUFFIX}`);
  }

  async #remove(name: string): Promise<void> {
    const path = join(this.#directory, name);
    await writing(path, () => rm(path, { force: true }));
  }
}
