import { AppError } from '../../domain/errors.ts';
import { SealError } from '../../platform/sealer.ts';

/**
 * Rows of a list as they are shown. One that cannot be shown (a time that is none, a secret that cannot be opened,
 * damaged JSON) is left out and named in the envelope's `warnings`: it would fail the whole list, and a half-filled
 * item would break clients that check what they read.
 */
const leftOut = new WeakMap<readonly unknown[], Unshown[]>();

interface Unshown {
  id: string;
  error: AppError | SealError;
}

export function showRows<Row, Item>(rows: readonly Row[], show: (row: Row) => Item): Item[] {
  const unshown: Unshown[] = [];
  const items = rows.flatMap((row) => {
    try {
      return [show(row)];
    } catch (error) {
      if (!isDamage(error)) throw error;
      unshown.push({ id: (row as { id?: string }).id ?? '', error });
      return [];
    }
  });
  if (unshown.length > 0) leftOut.set(items, unshown);
  return items;
}

/** Part of another row that is shown without it. */
export function shownOrNull<T>(show: () => T): T | null {
  try {
    return show();
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

/** Those that were left out of an answer's list. */
export function unshownOf(data: unknown): readonly Unshown[] {
  const list = Array.isArray(data) ? data : (data as { content?: unknown } | null)?.content;
  return (Array.isArray(list) && leftOut.get(list)) || [];
}

export const unshownWarning = ({ id, error }: Unshown): string =>
  `${id} is left out: ${toAppError(error).message}`;

/** Errors that what is stored can cause, and nothing else. */
function isDamage(error: unknown): error is AppError | SealError {
  const isRow = error instanceof AppError && error.code === 'row_damaged';
  return isRow || error instanceof SealError;
}

/** What a single read of such a row answers with. */
export function toAppError(error: AppError | SealError): AppError {
  if (error instanceof AppError) return error;
  return new AppError('secret_unreadable', { detail: error.message }, { cause: error });
}
