import { firstIdAt } from '../../domain/ids.ts';
import type { Database } from '../database/database.ts';
import { projectRetentions } from './project-retention.ts';

/**
 * Removes audit entries that are older than the retention of the instance or the shorter one of their
 * project. It works in chunks, so that no statement holds many locks for long. Entries are kept as long as
 * events but do not wait for open deliveries, which do not need them.
 */
const CHUNK = 1_000;

export async function removeExpiredAudit(
  db: Database,
  { nowMs, retentionMs }: { nowMs: number; retentionMs: number },
  signal: AbortSignal,
): Promise<void> {
  // This covers every project, deleted ones too, and the instance itself.
  await inChunks(db, { where: 'id < $1', values: [firstIdAt(nowMs - retentionMs)] }, signal);
  for (const { id, retentionMs: ownMs } of await projectRetentions(db)) {
    const where = 'project_id = $1 and id < $2';
    await inChunks(db, { where, values: [id, firstIdAt(nowMs - ownMs)] }, signal);
  }
}

async function inChunks(
  db: Database,
  { where, values }: { where: string; values: string[] },
  signal: AbortSignal,
): Promise<void> {
  const statement = `delete from audit_entries where id in (
    select id from audit_entries where ${where} order by id limit ${CHUNK}) returning id`;
  while (!signal.aborted && (await db.query(statement, values)).length === CHUNK);
}
