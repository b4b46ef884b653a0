import { parseGoDuration } from '../domain/duration.ts';
import { firstIdAt } from '../domain/ids.ts';
import type { Database } from './database.ts';

/**
 * Removes entries of the audit log that are older than the retention of the instance or the shorter one of their
 * project, in chunks, so that no statement holds many locks for long. They are kept as long as events but do not wait
 * for open deliveries, which need none of them. Two nodes at once only do each other's work.
 */
const CHUNK = 1_000;

export async function removeExpiredAudit(
  db: Database,
  { nowMs, retentionMs }: { nowMs: number; retentionMs: number },
): Promise<void> {
  // Of every project, deleted ones too, and of the instance itself.
  await inChunks(db, 'id < $1', [firstIdAt(nowMs - retentionMs)]);
  const projects = await db.query<{ id: string; policy: string }>(
    `select id, config->>'retention_policy' as policy from projects
     where deleted_at is null and config->>'retention_policy' <> ''`,
  );
  for (const { id, policy } of projects) {
    const ownMs = parseGoDuration(policy);
    if (ownMs !== null) await inChunks(db, 'project_id = $1 and id < $2', [id, firstIdAt(nowMs - ownMs)]);
  }
}

async function inChunks(db: Database, where: string, values: string[]): Promise<void> {
  const statement = `delete from audit_entries where id in (
    select id from audit_entries where ${where} order by id limit ${CHUNK}) returning id`;
  let removed: object[];
  do removed = await db.query(statement, values);
  while (removed.length === CHUNK);
}
