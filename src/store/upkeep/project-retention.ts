import { firstIdAt, type ProjectId } from '../../domain/ids.ts';
import { GzipFile } from '../../platform/gzip-file.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import type { Database, Queryable } from '../database/database.ts';
import { removeTemplates } from './expired-templates.ts';
import { type RowFormat, rowFormat, withinBytes } from './export-rows.ts';
import type { RemovalOptions } from './remove-partitions.ts';

/**
 * Removes data of projects with a shorter retention than the instance (retention.ts). Their rows share
 * partitions with other projects, so they are deleted one by one, in chunks, and only below the project's
 * oldest open event or delivery. An event is deleted after its deliveries, together with its idempotency key.
 *
 * An export is written from the rows that a chunk's statement has deleted, and its files are synced before
 * the commit. So the deleted and the exported rows cannot differ. Files are named after the first row of the
 * chunk. If the commit fails, the next run begins with that row again and replaces them.
 */
const CHUNK_ROWS = 1_000;
const CHUNK_BYTES = 16_777_216;
const ENDED = `status in ('Success', 'Failure', 'Discarded')`;
const UNUSED = 'not exists (select from event_deliveries d where d.event_id = e.id)';
/** Locked, so that none of them is reopened before it is deleted. */
const chunk = (table: string) => `order by id limit ${CHUNK_ROWS} for update of ${table} skip locked`;

interface Removal {
  /** Finds ids of a project ($1) below an id ($2) that may be deleted, with their size, in id order. */
  candidates: string;
  /** Each deletes rows of the project ($1) by the chosen ids ($2). */
  deletions: readonly { table: string; where: string }[];
}

const REMOVALS: readonly Removal[] = [
  {
    candidates: `select id, (coalesce(octet_length(body), 0) + coalesce((
        select sum(octet_length(response_body)) from delivery_attempts a
        where (a.project_id, a.delivery_id) = (d.project_id, d.id)), 0))::float8 as bytes
      from event_deliveries d where project_id = $1 and id < $2 and ${ENDED} ${chunk('d')}`,
    deletions: [
      { table: 'event_deliveries', where: 'id = any($2)' },
      { table: 'delivery_attempts', where: 'delivery_id = any($2)' },
    ],
  },
  {
    candidates: `select id, octet_length(payload)::float8 as bytes from events e
      where project_id = $1 and id < $2 and ${UNUSED} ${chunk('e')}`,
    // Checked again under the lock, because a replay may just have created a delivery.
    deletions: [{ table: 'events', where: `id = any($2) and ${UNUSED}` }],
  },
  {
    candidates: `select id, octet_length(payload)::float8 as bytes from meta_events m
      where project_id = $1 and id < $2 and ${ENDED} ${chunk('m')}`,
    deletions: [{ table: 'meta_events', where: 'id = any($2)' }],
  },
];

export interface ProjectRetention {
  id: ProjectId;
  retentionMs: number;
}

/** Projects with their own retention. */
export async function projectRetentions(db: Queryable): Promise<ProjectRetention[]> {
  const projects = await db.query<{ id: ProjectId; policy: string }>(
    `select id, config #>> '{retention_policy,policy}' as policy from projects
     where deleted_at is null and (config #>> '{retention_policy,retention_policy_enabled}')::boolean`,
  );
  return projects.flatMap(({ id, policy }) => {
    const retentionMs = parseGoDuration(policy);
    return retentionMs === null ? [] : [{ id, retentionMs }];
  });
}

export async function removeExpiredOfProjects(options: RemovalOptions, nowMs: number): Promise<void> {
  const { db, signal } = options;
  const formats = new Map<string, RowFormat>();
  if (options.exportDirectory !== '')
    for (const { table } of REMOVALS.flatMap(({ deletions }) => deletions))
      formats.set(table, await rowFormat(db, table));
  for (const { id, retentionMs } of await projectRetentions(db)) {
    const below = await removableBelow(db, id, firstIdAt(nowMs - retentionMs));
    for (const removal of REMOVALS) {
      while (!signal.aborted && (await removeChunk(options, removal, { projectId: id, below, formats })));
    }
    await removeTemplates(db, { from: below, projectId: id }, signal);
  }
}

/** False: nothing was left to remove. */
async function removeChunk(
  { db, exportDirectory }: RemovalOptions,
  removal: Removal,
  of: { projectId: string; below: string; formats: ReadonlyMap<string, RowFormat> },
): Promise<boolean> {
  const { projectId, below, formats } = of;
  return db.transaction(async (tx) => {
    const found = await tx.query<{ id: string; bytes: number }>(removal.candidates, [projectId, below]);
    const ids = withinBytes(found, CHUNK_BYTES).map(({ id }) => id);
    const [first] = ids;
    if (first === undefined) return false;
    let removed = 0;
    for (const { table, where } of removal.deletions) {
      const format = formats.get(table);
      if (table === 'events') await removeKeys(tx, projectId, ids);
      const rows = await tx.query(
        `delete from ${table} e where project_id = $1 and ${where} returning ${format?.columns ?? 'project_id'}`,
        [projectId, ids],
      );
      removed += rows.length;
      if (format === undefined || rows.length === 0) continue;
      await writeFile(exportDirectory, `${table}_${projectId}_${first}.jsonl.gz`, rows.map(format.line));
    }
    return removed > 0;
  });
}

async function writeFile(directory: string, name: string, lines: readonly string[]): Promise<void> {
  const file = await GzipFile.create(directory, name);
  try {
    await file.write(lines.join(''));
    await file.finish();
  } finally {
    await file.discard();
  }
}

async function removeKeys(tx: Queryable, projectId: string, eventIds: readonly string[]): Promise<void> {
  await tx.query(
    `delete from event_keys k using events e
     where e.id = any($2) and e.project_id = $1 and ${UNUSED}
       and k.project_id = e.project_id and k.key = e.idempotency_key and k.event_id = e.id`,
    [projectId, eventIds],
  );
}

async function removableBelow(db: Database, projectId: string, expired: string): Promise<string> {
  const [open] = await db.query<{ oldest: string | null }>(
    `select least(min(delivery_id), min(event_id), (select min(event_id) from expansions where project_id = $1)) as oldest
     from delivery_queue where project_id = $1`,
    [projectId],
  );
  return open?.oldest != null && open.oldest < expired ? open.oldest : expired;
}
