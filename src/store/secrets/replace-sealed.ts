import { SealError } from '../../platform/sealer.ts';
import type { Queryable } from '../database/database.ts';

/** The steps that every table shares: open and seal what can be opened, and store it where nothing changed meanwhile. */
export interface Resealed {
  table: string;
  /** Resealed values; for events, rows. */
  done: number;
  /** Not changed: locked, or modified meanwhile. */
  skipped: number;
  /** Why values could not be opened. */
  failures: string[];
}

interface Fresh {
  /** If the table is keyed by project. */
  projectId?: string;
  id: string;
  old: string;
  fresh: string;
}

export function attempt(total: Resealed, make: () => Fresh | null): Fresh[] {
  try {
    const made = make();
    return made === null ? [] : [made];
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    total.failures.push(error.message);
    return [];
  }
}

export async function replace(
  db: Queryable,
  table: string,
  change: { isRow(row: string): string; isOld: string; set: string; rows: Fresh[] },
): Promise<number> {
  const { rows } = change;
  if (rows.length === 0) return 0;
  const [result] = await db.query<{ count: number }>(
    `with locked as (
       select f.project_id, f.id, f.fresh
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as f(project_id, id, old, fresh)
       join ${table} on ${change.isRow('f')} and ${change.isOld}
       for update of t skip locked
     ), done as (
       update ${table} set ${change.set} from locked l where ${change.isRow('l')} returning 1
     ) select count(*) from done`,
    [
      rows.map((row) => row.projectId ?? null),
      rows.map((row) => row.id),
      rows.map((row) => row.old),
      rows.map((row) => row.fresh),
    ],
  );
  return result?.count ?? 0;
}
