import type { HotQueryable } from './database.ts';
import { writeFaultOf } from './write-watch.ts';

/** A look-up that records its use. */
export interface LookUp {
  name: string;
  /** `with found as (...)` */
  found: string;
  /** `used as (...)`: the update of what was found. */
  used: string;
}

/** Callers may still read a database that takes no writes: there the use is not recorded. */
export async function lookUp<R extends object>(
  db: HotQueryable,
  { name, found, used }: LookUp,
  values: unknown[],
): Promise<R[]> {
  try {
    return await db.hot<R>(name, `${found}, ${used} select * from found`, values);
  } catch (error) {
    if (writeFaultOf(error) === null) throw error;
    return db.hot<R>(`${name}-only`, `${found} select * from found`, values);
  }
}
