import type { Actor } from '../../domain/audit.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Database, Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';

/**
 * Jobs: queued -> running -> completed, or cancelled, or failed. A chunk runs in the transaction that has the
 * job's row locked, and commits its cursor together with its work. A node that dies in the middle of a chunk
 * leaves nothing behind, and the next node that locks the row continues from the cursor: no row is skipped or
 * repeated.
 */
export const jobTypes = ['batch_replay', 'batch_retry', 'batch_cancel', 'onboard'] as const;
export type JobType = (typeof jobTypes)[number];
export const jobStatuses = ['queued', 'running', 'completed', 'cancelled', 'failed'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export interface JobRow {
  id: string;
  project_id: ProjectId;
  type: JobType;
  status: JobStatus;
  input: string;
  sealed: Buffer | null;
  cursor: string;
  total: number | null;
  done: number;
  failed: number;
  /** Rows per second at most. Null: no limit. */
  rate: number | null;
  error: string | null;
  started_at: number | null;
  finished_at: number | null;
  updated_at: number;
  /** The actor who started it. */
  actor_type: string;
  actor_id: string | null;
  actor_credential_id: string | null;
  actor_address: string | null;
}

/** The result of a chunk. */
export interface JobChunk {
  /** Where the next chunk begins. Null: nothing is left. */
  cursor: string | null;
  done: number;
  failed: number;
  /** Milliseconds that the next chunk has to wait. */
  delayMs?: number;
  /** Called once the chunk is committed. */
  committed?(): void | Promise<void>;
}

/** Runs the next chunk of a job, in the transaction that also moves its cursor. */
export type JobWork = (tx: Queryable, job: JobRow) => Promise<JobChunk>;

const COLUMNS =
  'id, project_id, type, status, input, sealed, cursor, total, done, failed, rate, error, started_at, finished_at, updated_at, actor_type, actor_id, actor_credential_id, actor_address';
const OPEN = `status in ('queued', 'running')`;

export async function insertJob(
  db: Queryable,
  job: Pick<JobRow, 'id' | 'project_id' | 'type' | 'input' | 'sealed' | 'total' | 'rate'> & { actor: Actor },
): Promise<JobRow> {
  const { credentialId = null, address = null } = job.actor.type === 'instance' ? {} : job.actor;
  const [row] = await db.query<JobRow>(
    `insert into jobs (id, project_id, type, status, input, sealed, total, rate,
       actor_type, actor_id, actor_credential_id, actor_address)
     values ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $11) returning ${COLUMNS}`,
    [
      job.id,
      job.project_id,
      job.type,
      job.input,
      job.sealed,
      job.total,
      job.rate,
      job.actor.type,
      job.actor.id,
      credentialId,
      address,
    ],
  );
  return row as JobRow;
}

export async function getJob(db: Queryable, projectId: ProjectId, id: string): Promise<JobRow | undefined> {
  const [row] = await db.query<JobRow>(`select ${COLUMNS} from jobs where id = $1 and project_id = $2`, [
    id,
    projectId,
  ]);
  return row;
}

export function listJobs(db: Queryable, projectId: string, page: PageRequest): Promise<Page<JobRow>> {
  const where = new Where().add('project_id = ?', projectId);
  return listPage(db, { select: COLUMNS, from: 'jobs', where, page, id: 'id' });
}

/** Undefined if there is no such job or it has ended. Waits for the running chunk; none follows. */
export async function cancelJob(
  db: Queryable,
  projectId: ProjectId,
  id: string,
): Promise<JobRow | undefined> {
  const [row] = await db.query<JobRow>(
    `update jobs set status = 'cancelled', sealed = null, finished_at = now(), updated_at = now()
     where id = $1 and project_id = $2 and ${OPEN} returning ${COLUMNS}`,
    [id, projectId],
  );
  return row;
}

/**
 * Runs one chunk of the job that has waited longest, with SKIP LOCKED. False if there was none. A chunk that
 * throws is rolled back.
 */
export async function workOnJob(
  db: Database,
  works: Readonly<Record<JobType, JobWork>>,
  on: {
    error(job: JobRow, error: unknown): void;
    /** The next chunk of the job may begin in so many milliseconds. */
    delay(ms: number): void;
  },
): Promise<boolean> {
  let taken: JobRow | undefined;
  let chunk: JobChunk | undefined;
  try {
    await db.transaction(async (tx) => {
      // A node that is cut off from the database must not keep a job locked. Chunks read by index only.
      await tx.query(
        `set local idle_in_transaction_session_timeout = '30s'; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`,
      );
      [taken] = await tx.query<JobRow>(
        `select ${COLUMNS} from jobs where ${OPEN} and due_at <= clock_timestamp() order by due_at limit 1 for update skip locked`,
      );
      if (taken === undefined) return;
      chunk = await works[taken.type](tx, taken);
      chunk = { ...chunk, delayMs: delayOf(taken, chunk) };
      await saveChunk(tx, taken, chunk);
    });
  } catch (error) {
    if (taken === undefined) throw error;
    if (await endJobOfDeletedProject(db, taken.id)) return true;
    on.error(taken, error);
    return false;
  }
  await chunk?.committed?.();
  if (chunk?.delayMs !== undefined && chunk.delayMs > 0 && chunk.cursor !== null) on.delay(chunk.delayMs);
  return taken !== undefined;
}

/** How many rows a chunk may have. With a rate, no more than in one second. */
export function chunkLimit({ rate }: JobRow, most: number): number {
  return rate === null ? most : Math.min(most, rate);
}

function delayOf({ rate }: JobRow, { done, failed, delayMs = 0 }: JobChunk): number {
  return rate === null ? delayMs : Math.max(delayMs, ((done + failed) * 1000) / rate);
}

/** A job cannot continue without its project. This is checked only after a chunk has failed. */
async function endJobOfDeletedProject(db: Queryable, id: string): Promise<boolean> {
  const ended = await db.query(
    `update jobs set status = 'cancelled', error = 'The project was deleted.', sealed = null, finished_at = now(),
       updated_at = now()
     where id = $1 and ${OPEN}
       and not exists (select from projects p where p.id = jobs.project_id and p.deleted_at is null)
     returning id`,
    [id],
  );
  return ended.length > 0;
}

async function saveChunk(tx: Queryable, job: JobRow, chunk: JobChunk): Promise<void> {
  const ended = chunk.cursor === null;
  await tx.query(
    `update jobs set status = $2, cursor = $3, done = done + $4, failed = failed + $5,
       started_at = coalesce(started_at, clock_timestamp()), updated_at = clock_timestamp(),
       total = case when $6 then done + $4 + failed + $5 else total end,
       sealed = case when $6 then null else sealed end,
       finished_at = case when $6 then clock_timestamp() end,
       due_at = clock_timestamp() + $7 * interval '1 millisecond'
     where id = $1`,
    [
      job.id,
      ended ? 'completed' : 'running',
      chunk.cursor ?? job.cursor,
      chunk.done,
      chunk.failed,
      ended,
      chunk.delayMs ?? 0,
    ],
  );
}

/** Ends a job that cannot continue. */
export async function failJob(db: Queryable, id: string, error: string): Promise<void> {
  await db.query(
    `update jobs set status = 'failed', error = $2, sealed = null, finished_at = now(), updated_at = now()
     where id = $1 and ${OPEN}`,
    [id, error],
  );
}
