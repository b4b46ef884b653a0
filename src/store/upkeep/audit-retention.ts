import { firstIdAt } from '../../domain/ids.ts';
import { eachProject } from '../config/each-project.ts';
import { deleteInChunks } from './delete-in-chunks.ts';
import { type ProjectRemoval, projectRetentions } from './project-retention.ts';

/**
 * Removes audit entries that are older than the retention of the instance or the shorter one of their
 * project. Entries are kept as long as events but do not wait for open deliveries, which do not need them.
 */
export async function removeExpiredAudit(
  { db, signal, failed }: Pick<ProjectRemoval, 'db' | 'signal' | 'failed'>,
  { nowMs, retentionMs }: { nowMs: number; retentionMs: number },
): Promise<void> {
  const table = 'audit_entries';
  // This covers every project, deleted ones too, and the instance itself.
  const ofAll = { table, where: 'id < $1 order by id', values: [firstIdAt(nowMs - retentionMs)] };
  await deleteInChunks(db, ofAll, signal);
  await eachProject({
    find: () => projectRetentions(db),
    act: (projectId, [{ retentionMs: ownMs }]) => {
      const where = 'project_id = $1 and id < $2 order by id';
      return deleteInChunks(db, { table, where, values: [projectId, firstIdAt(nowMs - ownMs)] }, signal);
    },
    failed,
    signal,
  });
}
