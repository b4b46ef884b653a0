import { idTime } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';

/** When a config row was created, changed and deleted, as responses and meta events show it. */
export function rowTimes(row: { id: string; updated_at: number; deleted_at: number | null }) {
  return {
    created_at: formatTime(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: row.deleted_at === null ? null : formatTime(row.deleted_at),
  };
}

/**
 * When a row was last changed. The database stamps it with the start of its transaction, which may be before
 * the id was created. Then the row has not changed since its creation.
 */
export function updatedAt(row: { id: string; updated_at: number }): string {
  return formatTime(Math.max(row.updated_at, idTime(row.id)));
}
