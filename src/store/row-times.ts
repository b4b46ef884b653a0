import { idTime } from '../domain/ids.ts';

const iso = (ms: number) => new Date(ms).toISOString();

/** When a row of config was made, changed and deleted, as meta events show it. */
export function rowTimes(row: { id: string; updated_at: number; deleted_at: number | null }) {
  return {
    created_at: iso(idTime(row.id)),
    updated_at: iso(row.updated_at),
    deleted_at: row.deleted_at === null ? null : iso(row.deleted_at),
  };
}
