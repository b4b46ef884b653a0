import { firstIdAt } from '../../domain/ids.ts';
import type { Database } from '../database/database.ts';
import { deleteInChunks } from './delete-in-chunks.ts';
import { projectRetentions } from './project-retention.ts';

/**
 * Removes audit entries that are older than the retention of the instance or the shorter one of their
 * project. Entries are kept as long as events but do not wait for open deliveries, which do not need them.
 */
export async function removeExpiredAudit(
  db: Database,
  { nowMs, retentionMs }: { nowMs: number; retentionMs: number },
  signal: AbortSignal,
): Promise<void> {
  const table = 'audit_entries';
  // This covers every project, deleted ones too, and the instance itself.
  const ofAll = { table, where: 'id < $1 order by id', values: [firstIdAt(nowMs - retentionMs)] };
  await deleteInChunks(db, ofAll, signal);
  for (const { id, retentionMs: ownMs } of await projectRetentions(db)) {
    const where = 'project_id = $1 and id < $2 order by id';
    await deleteInChunks(db, { table, where, values: [id, firstIdAt(nowMs - ownMs)] }, signal);
  }
}
