import { AppError } from '../../domain/errors.ts';
import type { Queryable } from './database.ts';
import { isTimeout } from './pg-errors.ts';
import { withSavepoint } from './savepoint.ts';

/** Null: the read took longer than reads may. For answers that are worth giving without it. */
export async function unlessTooSlow<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof AppError && error.code === 'search_timeout') return null;
    throw error;
  }
}

/** The same for one statement of a reading, which goes on without it. */
export async function unlessTooSlowIn<T>(tx: Queryable, read: () => Promise<T>): Promise<T | null> {
  try {
    return await withSavepoint(tx, read);
  } catch (error) {
    if (isTimeout(error)) return null;
    throw error;
  }
}
