import { idTime } from '../../domain/ids.ts';
import type { Database, Queryable } from '../database/database.ts';
import { detachedPartitions, partitionBounds } from './partitions.ts';

/**
 * Removes templates that no attempt uses any more. An attempt is younger than its delivery, and a node uses a template
 * for a day (attempt-templates.ts). So the deliveries from an id on need none from more than a day before it. The second
 * day is for clocks that differ.
 */
const KEPT_MS = 2 * 86_400_000;
const CHUNK = 1_000;

/** `from` is the oldest id that is left, in all projects or in one. */
export async function removeTemplates(
  db: Database,
  { from, projectId }: { from: string; projectId: string | null },
  signal: AbortSignal,
): Promise<void> {
  let removed: object[];
  do {
    if (signal.aborted) return;
    removed = await db.query(
      `delete from attempt_templates where ctid = any(array(
         select ctid from attempt_templates
         where made_at < to_timestamp($1::float8 / 1000) and ($2::text is null or project_id = $2)
         limit ${CHUNK} for update skip locked)) returning 1`,
      [idTime(from) - KEPT_MS, projectId],
    );
  } while (removed.length === CHUNK);
}

/** The first id that any partition can have, also one that is about to be dropped. Undefined: there are none. */
export async function oldestKeptId(db: Queryable): Promise<string | undefined> {
  const partitions = [...(await partitionBounds(db)), ...(await detachedPartitions(db))];
  return partitions.map(({ from }) => from).toSorted()[0];
}
