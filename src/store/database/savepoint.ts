import type { Queryable } from './database.ts';

/** Does work whose failure must not fail its transaction: the work is undone, and the transaction can go on. */
export async function withSavepoint<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  await tx.query('savepoint work');
  try {
    const result = await work();
    await tx.query('release savepoint work');
    return result;
  } catch (error) {
    await tx.query('rollback to savepoint work');
    throw error;
  }
}
