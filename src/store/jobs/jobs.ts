import type { Actor } from '../../domain/audit.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { refuseMoving } from '../config/projects.ts';
import type { Database, Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { notifyOfJob } from '../database/notify-nodes.ts';

/**
 * Jobs: queued -> running -> completed, or cancelled, or failed. A node takes a job by moving its due time 10 s ahead.
 * It prepares the next chunk outside of a transaction, and runs it in the one that locks the job's row and moves the
 * cursor. If the cursor has moved since, another node ran that chunk, and nothing is stored. A node that dies leaves
 * nothing behind, and another continues from the cursor within 10 s: no row is skipped or repeated.
 */
export const jobTypes = ['batch_replay', 'batch_retry', 'batch_cancel', 'send_now', 'onboard'] as const;
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
  /** The rows themselves keep the rate of the job, so the next chunk need not wait. */
  keepsRate?: true;
  /** Called once the chunk is committed. */
  committed?(): void | Promise<void>;
}

/** Prepares the next chunk of a job. The result runs it, in the transaction that also moves the cursor. */
export type JobWork = (job: JobRow) => Promise<(tx: Queryable) => Promise<JobChunk>>;

const COLUMNS =
  'id, project_id, type, status, input, sealed, cursor, total, done, failed, rate, error, started_at, finished_at, updated_at, actor_type, actor_id, actor_credential_id, actor_address';
const OPEN = `status in ('queued', 'running')`;
/** Jobs that a node may take. */
export const DUE_JOBS = `${OPEN} and due_at <= clock_timestamp()
  and not exists (select from projects p where p.id = jobs.project_id and p.cell_state is not null)`;
const TAKEN_SECONDS = 10;

/** In a transaction of the caller. */
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
  await notifyOfJob(db);
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

/** Runs one chunk of the job that has waited longest. False if there was none. A chunk that throws is rolled back. */
export async function workOnJob(
  db: Database,
  works: Readonly<Record<JobType, JobWork>>,
  on: {
    error(job: JobRow, error: unknown): void;
    /** The next chunk of the job may begin in so many milliseconds. */
    delay(ms: number): void;
  },
): Promise<boolean> {
  const taken = await takeJob(db);
  if (taken === undefined) return false;
  let chunk: JobChunk | null;
  try {
    const run = await works[taken.type](taken);
    chunk = await jobTransaction(db, (tx) => runChunk(tx, taken, run));
  } catch (error) {
    // Other jobs may be due. This one is not taken again at once.
    if (!(await endJobOfDeletedProject(db, taken.id))) on.error(taken, error);
    return true;
  }
  await chunk?.committed?.();
  if (chunk?.delayMs !== undefined && chunk.delayMs > 0 && chunk.cursor !== null) on.delay(chunk.delayMs);
  return true;
}

async function takeJob(db: Database): Promise<JobRow | undefined> {
  const [taken] = await db.query<JobRow>(
    `update jobs set due_at = clock_timestamp() + interval '${TAKEN_SECONDS} seconds' where id = (
       select id from jobs where ${DUE_JOBS} order by due_at limit 1 for update skip locked
     ) returning ${COLUMNS}`,
  );
  return taken;
}

/** A transaction of a job. It reads by index only. A node that is cut off from the database keeps no row locked. */
export function jobTransaction<T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    await tx.query(
      `set local idle_in_transaction_session_timeout = '30s'; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`,
    );
    return work(tx);
  });
}

/** Null: the job has ended, or another node ran this chunk. */
async function runChunk(
  tx: Queryable,
  taken: JobRow,
  run: (tx: Queryable) => Promise<JobChunk>,
): Promise<JobChunk | null> {
  await refuseMoving(tx, taken.project_id);
  const locked = await tx.query(`select id from jobs where id = $1 and cursor = $2 and ${OPEN} for update`, [
    taken.id,
    taken.cursor,
  ]);
  if (locked.length === 0) return null;
  const ran = await run(tx);
  const chunk = { ...ran, delayMs: delayOf(taken, ran) };
  await saveChunk(tx, taken, chunk);
  return chunk;
}

/** Gives back a job whose chunk was rolled back. It is taken again in a second. */
export async function releaseJob(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update jobs set due_at = clock_timestamp() + interval '1 second' where id = $1 and ${OPEN}`,
    [id],
  );
}

/** How many rows a chunk may have. With a rate, no more than in one second. */
export function chunkLimit({ rate }: JobRow, most: number): number {
  return rate === null ? most : Math.min(most, rate);
}

function delayOf({ rate }: JobRow, { done, failed, delayMs = 0, keepsRate }: JobChunk): number {
  return rate === null || keepsRate ? delayMs : Math.max(delayMs, ((done + failed) * 1000) / rate);
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
