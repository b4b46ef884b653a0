import type { Database } from '../../src/store/database/database.ts';
import type { RemovalOptions } from '../../src/store/upkeep/remove-partitions.ts';
import { withUpkeepLock } from '../../src/store/upkeep/upkeep-lock.ts';

/**
 * Runs work of the janitor, as the one node with the lock. It waits longer for other locks than a node does, so that a
 * busy machine does not keep it from them. `waitsMs`: for a test of locks that stay closed.
 */
export async function upkeep<T>(
  db: Database,
  work: (options: RemovalOptions) => Promise<T>,
  { exportDirectory = '', waitsMs = 40_000 }: { exportDirectory?: string; waitsMs?: number } = {},
): Promise<T> {
  const { signal } = new AbortController();
  const result = await withUpkeepLock(db, signal, async (session) => {
    await session.query(`set lock_timeout = ${waitsMs}`);
    return work({ db, session, signal, exportDirectory });
  });
  if (result === null) throw new Error('another node has the upkeep lock');
  return result;
}
