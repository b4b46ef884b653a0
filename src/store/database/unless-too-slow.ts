import { AppError } from '../../domain/errors.ts';

/** Null: the read took longer than reads may. For answers that are worth giving without it. */
export async function unlessTooSlow<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof AppError && error.code === 'search_timeout') return null;
    throw error;
  }
}
