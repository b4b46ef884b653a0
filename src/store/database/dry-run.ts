import type { Database, Queryable } from './database.ts';

/** Does work in a transaction and rolls it back. The result is as if it had been committed. */
export async function dryRun<T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const end = new Error('a dry run is rolled back');
  let result: { value: T } | undefined;
  try {
    await db.transaction(async (tx) => {
      result = { value: await work(tx) };
      throw end;
    });
  } catch (error) {
    if (error !== end || result === undefined) throw error;
    return result.value;
  }
  throw new Error('a dry run was committed');
}
