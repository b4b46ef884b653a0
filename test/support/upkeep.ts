import type { Database } from '../../src/store/database/database.ts';
import type { ProjectRemoval } from '../../src/store/upkeep/project-retention.ts';
import { withUpkeepLock } from '../../src/store/upkeep/upkeep-lock.ts';

/**
 * Runs work of the janitor, as the one node with the lock. It waits longer for other locks than a node does, so that a
 * busy machine does not keep it from them. `waitsMs`: for a test of locks that stay closed.
 */
export async function upkeep<T>(
  db: Database,
  work: (options: ProjectRemoval) => Promise<T>,
  { exportDirectory = '', waitsMs = 40_000 }: { exportDirectory?: string; waitsMs?: number } = {},
): Promise<T> {
  const { signal } = new AbortController();
  const result = await withUpkeepLock(db, signal, async (session) => {
    await session.query(`set lock_timeout = ${waitsMs}`);
    const failed = (_: unknown, error: unknown) => {
      throw error;
    };
    return work({ db, session, signal, exportDirectory, failed });
  });
  if (result === null) throw new Error('another node has the upkeep lock');
  return result;
}
