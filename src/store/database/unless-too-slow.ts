import { AppError } from '../../domain/errors.ts';
import type { Queryable } from './database.ts';
import { isTimeout } from './pg-errors.ts';

/** Null: the read took longer than reads may. For answers that are worth giving without it. */
export async function unlessTooSlow<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof AppError && error.code === 'search_timeout') return null;
    throw error;
  }
}

/** Bounds one statement of a reading, which goes on without it. */
export async function unlessTooSlowIn<T>(tx: Queryable, read: () => Promise<T>): Promise<T | null> {
  try {
    return await withSavepoint(tx, read);
  } catch (error) {
    if (isTimeout(error)) return null;
    throw error;
  }
}

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
