import { idTime } from '../../domain/ids.ts';
import type { Database, Queryable } from '../database/database.ts';
import { deleteInChunks } from './delete-in-chunks.ts';
import { detachedPartitions, partitionBounds } from './partitions.ts';

/**
 * Removes templates that no attempt uses any more. An attempt is younger than its delivery, and a node uses a template
 * for a day (attempt-templates.ts). So the deliveries from an id on need none from more than a day before it. The second
 * day is for clocks that differ.
 *
 * A partition past the retention may stay for a delivery that is open. Its projects keep their templates from its
 * beginning on. All others need none from before the oldest partition within the retention.
 */
const KEPT_MS = 2 * 86_400_000;
const TABLES = new Set<string>(['event_deliveries', 'delivery_attempts']);
const MADE_BEFORE = 'made_at < to_timestamp($1::float8 / 1000)';

/** `expired` is the first id within the retention of the instance. */
export async function removeTemplates(db: Database, expired: string, signal: AbortSignal): Promise<void> {
  const all = [...(await partitionBounds(db)), ...(await detachedPartitions(db))];
  const partitions = all
    .filter(({ table }) => TABLES.has(table))
    .toSorted((a, b) => (a.from < b.from ? -1 : 1));
  const oldest = partitions.find(({ to }) => to > expired);
  if (oldest === undefined) return;
  const kept = new Set<string>();
  for (const { name, from } of partitions.filter(({ to }) => to <= expired)) {
    const projects = (await projectsIn(db, name)).filter((id) => !kept.has(id));
    await removeBefore(db, { from, which: 'project_id = any($2)', projects }, signal);
    for (const id of projects) kept.add(id);
  }
  await removeBefore(db, { from: oldest.from, which: 'project_id <> all($2)', projects: [...kept] }, signal);
}

/** After the rows of a project below an id were removed, except those that must stay. */
export async function removeTemplatesOfProject(
  db: Database,
  { projectId, below }: { projectId: string; below: string },
  signal: AbortSignal,
): Promise<void> {
  const [left] = await db.query<{ oldest: string }>(
    `select least($2, (select min(id) from event_deliveries where project_id = $1),
       (select min(delivery_id) from delivery_attempts where project_id = $1)) as oldest`,
    [projectId, below],
  );
  const from = left?.oldest ?? below;
  await removeBefore(db, { from, which: 'project_id = any($2)', projects: [projectId] }, signal);
}

async function removeBefore(
  db: Database,
  { from, which, projects }: { from: string; which: string; projects: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  const values = [idTime(from) - KEPT_MS, projects];
  const where = `${MADE_BEFORE} and ${which}`;
  await deleteInChunks(db, { table: 'attempt_templates', where, values }, signal);
}

/** One index probe per project, for any number of rows. */
async function projectsIn(db: Queryable, partition: string): Promise<string[]> {
  const rows = await db.query<{ project_id: string }>(
    `with recursive found as (
       (select project_id from ${partition} order by project_id limit 1)
       union all
       select n.project_id from found cross join lateral (
         select project_id from ${partition} where project_id > found.project_id order by project_id limit 1
       ) n
     )
     select project_id from found`,
  );
  return rows.map((row) => row.project_id);
}
