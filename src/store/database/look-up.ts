import type { HotQueryable } from './database.ts';
import { writeFaultOf } from './write-watch.ts';

/** A look-up of credentials that records their use, to the minute. */
interface LookUp {
  name: string;
  table: string;
  /** `with found as (...)`, with `hash` and `is_recent`. */
  found: string;
}

const used = (table: string): string => `used as (
  update ${table} set last_used_at = now()
  -- never waits: another holder of the row records its use or ends it
  where id = any(array(
    select k.id from ${table} k
    where k.id = any(array(select id from found where not is_recent)) for update skip locked))
)`;

/** In the order of the hashes. Callers may still read a database that takes no writes: there the use is not recorded. */
export async function lookUp<R extends object>(
  db: HotQueryable,
  { name, table, found }: LookUp,
  values: [hashes: readonly Buffer[], ...more: unknown[]],
): Promise<(R | undefined)[]> {
  const rows = await db
    .hot<R & Hashed>(name, `${found}, ${used(table)} select * from found`, values)
    .catch((error: unknown) => {
      if (writeFaultOf(error) === null) throw error;
      return db.hot<R & Hashed>(`${name}-only`, `${found} select * from found`, values);
    });
  return ofHashes(values[0], rows);
}

interface Hashed {
  hash: Buffer;
}

export function ofHashes<R extends Hashed>(hashes: readonly Buffer[], rows: readonly R[]): (R | undefined)[] {
  const byHash = new Map(rows.map((row) => [row.hash.toString('hex'), row]));
  return hashes.map((hash) => byHash.get(hash.toString('hex')));
}
