import { isUtf8 } from 'node:buffer';
import { GzipFile } from '../../platform/whole-file.ts';
import { exportedRow, templateColumn } from '../attempts/exported-attempt.ts';
import type { Queryable } from '../database/database.ts';

/**
 * Rows as lines of JSON, one object per row with every column of the table, and attempts with all of their values. Bytes
 * are exact: a bytea column is its text if it is UTF-8, else base64 under the column's name plus `_base64`. Times keep
 * their microseconds.
 */
export interface RowFormat {
  /** The select list, of a row `e`. */
  columns: string;
  line(row: object): string;
}

export async function rowFormat(db: Queryable, table: string): Promise<RowFormat> {
  const columns = await db.query<{ name: string; type: string }>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  const template = templateColumn(columns.map(({ name }) => name));
  return {
    columns: [...columns.map(selected), ...(template === undefined ? [] : [template])].join(', '),
    line,
  };
}

function selected({ name, type }: { name: string; type: string }): string {
  if (type !== 'timestamp with time zone') return `e.${name}`;
  return `to_char(e.${name} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${name}`;
}

function line(row: object): string {
  return `${JSON.stringify(readable(exportedRow({ ...row })))}\n`;
}

function readable(row: object): object {
  const fields = Object.entries(row).map(([name, value]: [string, unknown]) => {
    if (name === 'attempt' && value !== null) return [name, readable(value as object)];
    if (!Buffer.isBuffer(value)) return [name, value];
    return isUtf8(value) ? [name, value.toString()] : [`${name}_base64`, value.toString('base64')];
  });
  return Object.fromEntries(fields);
}

/** Rows read at once, fewer if they are large. */
const CHUNK_ROWS = 500;
const CHUNK_BYTES = 2_097_152;

/**
 * Writes a table, read in ranges of its key, each by a statement of its own, so that no snapshot stays open.
 * Rows that are written meanwhile may be missing or old. A table without rows creates no file. False: it was
 * stopped, and nothing was left behind.
 */
export async function exportTable(
  db: Queryable,
  table: { name: string; key: readonly string[]; bytes: string },
  to: { directory: string; signal: AbortSignal },
): Promise<boolean> {
  const format = await rowFormat(db, table.name);
  const key = table.key.join(', ');
  const file = await GzipFile.create(to.directory, `${table.name}.jsonl.gz`);
  try {
    let after: readonly string[] = table.key.map(() => '');
    for (
      let chunk = await nextChunk(db, table, after);
      chunk !== undefined;
      chunk = await nextChunk(db, table, after)
    ) {
      if (to.signal.aborted) return false;
      // By number and not up to the last key. With a limit the key is read in order, for any row estimate of
      // the planner.
      const rows = await db.query(
        `select ${format.columns} from ${table.name} e
         where (${key}) > (${parameters(table.key)}) order by ${key} limit ${chunk.rows}`,
        [...after],
      );
      await file.write(rows.map(format.line).join(''));
      after = chunk.last;
    }
    await file.finish();
    return true;
  } finally {
    await file.discard();
  }
}

const parameters = (key: readonly string[]) => key.map((_, n) => `$${n + 1}`).join(', ');

/** How many of the next rows fit in memory, and the key of the last of them. Undefined: there are none. */
async function nextChunk(
  db: Queryable,
  table: { name: string; key: readonly string[]; bytes: string },
  after: readonly string[],
): Promise<{ rows: number; last: string[] } | undefined> {
  const key = table.key.join(', ');
  const rows = await db.query<Record<string, string> & { bytes: number }>(
    `select ${key}, (${table.bytes})::float8 as bytes from ${table.name}
     where (${key}) > (${parameters(table.key)}) order by ${key} limit ${CHUNK_ROWS}`,
    [...after],
  );
  const chunk = withinBytes(rows, CHUNK_BYTES);
  const last = chunk.at(-1);
  return last && { rows: chunk.length, last: table.key.map((column) => last[column] ?? '') };
}

/** The longest prefix of the rows that fits into the bytes, at least one. */
export function withinBytes<Row extends { bytes: number }>(rows: readonly Row[], maxBytes: number): Row[] {
  let bytes = 0;
  return rows.filter((row, n) => {
    bytes += row.bytes;
    return n === 0 || bytes <= maxBytes;
  });
}
