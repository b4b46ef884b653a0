import { AppError } from '../../domain/errors.ts';
import { SealError } from '../../platform/sealer.ts';
import { nextTurn } from '../../platform/time/next-turn.ts';

/**
 * The rows of a list. A row that cannot be shown (an invalid time, a secret that cannot be opened, damaged
 * JSON) is omitted and named in the envelope's `warnings`. It would otherwise fail the whole list, and an
 * incomplete item would break clients that validate.
 */
const leftOut = new WeakMap<readonly unknown[], Unshown[]>();

interface Unshown {
  id: string;
  error: AppError | SealError;
}

export function showRows<Row, Item>(rows: readonly Row[], show: (row: Row) => Item): Item[] {
  const items: Item[] = [];
  for (const row of rows) showRow(row, show, items);
  return items;
}

/** Rows of a page may have large payloads. */
const ROWS_AT_ONCE = 20;
export const SHOWN_AT_ONCE = 64 * 1024;

/** `showRows` with a turn of the event loop after each slice, which is at most SHOWN_AT_ONCE and one row. */
export async function showInSlices<Row, Item>(
  rows: readonly Row[],
  show: (row: Row) => Item,
): Promise<Item[]> {
  const items: Item[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (bytes >= SHOWN_AT_ONCE) {
      await nextTurn();
      bytes = 0;
    }
    showRow(row, show, items);
    bytes += SHOWN_AT_ONCE / ROWS_AT_ONCE + payloadBytes(row);
  }
  return items;
}

function payloadBytes(row: unknown): number {
  const { payload } = row as { payload?: unknown };
  return Buffer.isBuffer(payload) ? payload.length : 0;
}

function showRow<Row, Item>(row: Row, show: (row: Row) => Item, items: Item[]): void {
  try {
    items.push(show(row));
  } catch (error) {
    if (!isDamage(error)) throw error;
    const unshown = leftOut.get(items) ?? [];
    leftOut.set(items, [...unshown, { id: (row as { id?: string }).id ?? '', error }]);
  }
}

/** A part of a row. The row is shown without it if it is damaged. */
export function shownOrNull<T>(show: () => T): T | null {
  try {
    return show();
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

/** The rows omitted from a list. */
export function unshownOf(data: unknown): readonly Unshown[] {
  const list = Array.isArray(data) ? data : (data as { content?: unknown } | null)?.content;
  return (Array.isArray(list) && leftOut.get(list)) || [];
}

export const unshownWarning = ({ id, error }: Unshown): string =>
  `${id} is omitted: ${toAppError(error).message}`;

/** Only errors caused by stored data. */
function isDamage(error: unknown): error is AppError | SealError {
  const isRow = error instanceof AppError && error.code === 'row_damaged';
  return isRow || error instanceof SealError;
}

/** The error of a single read of such a row. */
export function toAppError(error: AppError | SealError): AppError {
  if (error instanceof AppError) return error;
  return new AppError('secret_unreadable', { detail: error.message }, { cause: error });
}
