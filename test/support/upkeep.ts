import type { Database } from '../../src/store/database/database.ts';
import type { RemovalOptions } from '../../src/store/upkeep/remove-partitions.ts';
import { withUpkeepLock } from '../../src/store/upkeep/upkeep-lock.ts';

/** Runs work of the janitor, as the one node with the lock. */
export async function upkeep<T>(
  db: Database,
  work: (options: RemovalOptions) => Promise<T>,
  exportDirectory = '',
): Promise<T> {
  const { signal } = new AbortController();
  const result = await withUpkeepLock(db, signal, (session) =>
    work({ db, session, signal, exportDirectory }),
  );
  if (result === null) throw new Error('another node has the upkeep lock');
  return result;
}
