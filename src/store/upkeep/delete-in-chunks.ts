import type { Database } from '../database/database.ts';

/**
 * Deletes rows of a plain table in chunks, so that no statement holds many locks for long. It never waits for a locked
 * row: the next run finds it. `where` may end in an order.
 */
const CHUNK = 1_000;

export async function deleteInChunks(
  db: Database,
  { table, where, values }: { table: string; where: string; values: unknown[] },
  signal: AbortSignal,
): Promise<void> {
  const statement = `delete from ${table} where ctid = any(array(
    select ctid from ${table} where ${where} limit ${CHUNK} for update skip locked)) returning 1`;
  while (!signal.aborted && (await db.query(statement, values)).length === CHUNK);
}
