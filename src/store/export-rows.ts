import { isUtf8 } from 'node:buffer';
import { GzipFile } from '../platform/gzip-file.ts';
import type { Queryable } from './database.ts';

/**
 * Rows as lines of JSON, one object per row with every column of the table. Bytes are exact: a column of bytes is its
 * text where it is UTF-8, and else, under the column's name with `_base64` added, base64. Times keep their
 * microseconds.
 */
export interface RowFormat {
  /** What to select. */
  columns: string;
  line(row: object): string;
}

export async function rowFormat(db: Queryable, table: string): Promise<RowFormat> {
  const columns = await db.query<{ name: string; type: string }>(
    `select attname as name, atttypid::regtype::text as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  return { columns: columns.map(selected).join(', '), line };
}

function selected({ name, type }: { name: string; type: string }): string {
  if (type !== 'timestamp with time zone') return name;
  return `to_char(${name} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${name}`;
}

function line(row: object): string {
  const readable = Object.entries(row).map(([name, value]: [string, unknown]) => {
    if (!Buffer.isBuffer(value)) return [name, value];
    return isUtf8(value) ? [name, value.toString()] : [`${name}_base64`, value.toString('base64')];
  });
  return `${JSON.stringify(Object.fromEntries(readable))}\n`;
}

/** Rows read at once; fewer where they are large. */
const CHUNK_ROWS = 500;
const CHUNK_BYTES = 2_097_152;

/**
 * Writes a table that nobody changes any more, read in ranges of its key, each by a statement of its own: no snapshot
 * is held while others work. A table without rows makes no file. False: told to stop, nothing was left behind.
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
      let last = await chunkEnd(db, table, after);
      last !== undefined;
      last = await chunkEnd(db, table, after)
    ) {
      if (to.signal.aborted) return false;
      const rows = await db.query(
        `select ${format.columns} from ${table.name}
         where (${key}) > (${parameters(1, table.key)}) and (${key}) <= (${parameters(table.key.length + 1, table.key)})
         order by ${key}`,
        [...after, ...last],
      );
      await file.write(rows.map(format.line).join(''));
      after = last;
    }
    await file.finish();
    return true;
  } finally {
    await file.discard();
  }
}

const parameters = (from: number, key: readonly string[]) => key.map((_, n) => `$${from + n}`).join(', ');

/** The key of the last of the next rows, as many as fit in memory; undefined: there are none. */
async function chunkEnd(
  db: Queryable,
  table: { name: string; key: readonly string[]; bytes: string },
  after: readonly string[],
): Promise<string[] | undefined> {
  const key = table.key.join(', ');
  const rows = await db.query<Record<string, string> & { bytes: number }>(
    `select ${key}, (${table.bytes})::float8 as bytes from ${table.name}
     where (${key}) > (${parameters(1, table.key)}) order by ${key} limit ${CHUNK_ROWS}`,
    [...after],
  );
  const last = withinBytes(rows, CHUNK_BYTES).at(-1);
  return last && table.key.map((column) => last[column] ?? '');
}

/** The first of some rows, as many as are no larger together; at least one. */
export function withinBytes<Row extends { bytes: number }>(rows: readonly Row[], maxBytes: number): Row[] {
  let bytes = 0;
  return rows.filter((row, n) => {
    bytes += row.bytes;
    return n === 0 || bytes <= maxBytes;
  });
}
