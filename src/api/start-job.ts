import type { Queryable } from '../store/database.ts';
import { insertJob, type JobRow, type JobType } from '../store/jobs.ts';
import { isTimeout } from '../store/pg-errors.ts';
import type { ApiContext } from './context.ts';

/** How long a caller waits for the total; beyond that it is left open until the job has ended. */
const COUNT_MS = 1_000;

/** Stores a job and has it looked at soon. Input with credentials is sealed. */
export async function startJob(
  context: ApiContext,
  projectId: string,
  job: {
    type: JobType;
    input: unknown;
    isSecret?: boolean;
    count: number | ((tx: Queryable) => Promise<number>);
  },
): Promise<JobRow> {
  const { db, ids, sealer } = context;
  const total = typeof job.count === 'number' ? job.count : await countWithin(context, job.count);
  const id = ids.next();
  const input = JSON.stringify(job.input);
  const row = await insertJob(db, {
    id,
    project_id: projectId,
    type: job.type,
    input: job.isSecret === true ? '' : input,
    sealed: job.isSecret === true ? sealer.seal(input, `job ${id}`) : null,
    total,
  });
  context.wakeJobs();
  return row;
}

async function countWithin(
  context: ApiContext,
  count: (tx: Queryable) => Promise<number>,
): Promise<number | null> {
  try {
    return await context.db.transaction(async (tx) => {
      await tx.query(
        `set local statement_timeout = ${COUNT_MS}; set local enable_seqscan = off; set local enable_bitmapscan = off`,
      );
      return count(tx);
    });
  } catch (error) {
    if (isTimeout(error)) return null;
    throw error;
  }
}
