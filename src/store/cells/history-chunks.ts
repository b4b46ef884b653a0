import type { Queryable } from '../database/database.ts';

/** Rows per chunk, in order of the column that they are chunked by. */
const CHUNK = 2_000;

/** A table in the order of the column that it is chunked by. */
export interface Chunked {
  projectId: string;
  table: string;
  by: string;
}

/** The last value there is. Rows behind it are left to the next round, or a round would never end under load. */
export async function lastValue(db: Queryable, { projectId, table, by }: Chunked): Promise<string> {
  const [row] = await db.query<{ last: string | null }>(
    `select max(${by}) as last from ${table} where project_id = $1`,
    [projectId],
  );
  return row?.last ?? '';
}

/** The last value of the next chunk. Null: there are no more rows. */
export async function nextBound(
  db: Queryable,
  { projectId, table, by, after, last }: Chunked & { after: string; last: string },
): Promise<string | null> {
  const [row] = await db.query<{ bound: string | null }>(
    `select max(${by}) as bound from (
       select ${by} from ${table} where project_id = $1 and ${by} > $2 and ${by} <= $3 order by ${by} limit ${CHUNK}
     ) chunk`,
    [projectId, after, last],
  );
  return row?.bound ?? null;
}

/** The oldest transaction that may be open now, and the database's time. */
export async function openSince(db: Queryable): Promise<{ since: string; nowMs: number }> {
  const [row] = await db.query<{ since: string; nowMs: number }>(
    `select pg_snapshot_xmin(pg_current_snapshot())::text as since,
       extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs"`,
  );
  return row as { since: string; nowMs: number };
}

/**
 * SQL: a transaction from there on wrote the row. Rows have the lower 32 bits of its number. One that is two thousand million
 * transactions old counts as new: then it is copied once more.
 */
export const changedSince = (since: string): string =>
  `((xmin::text::bigint - ${BigInt(since) & 0xff_ff_ff_ffn}) & 4294967295) < 2147483648`;
