import type { Actor } from '../../domain/audit.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import type { Queryable } from '../../store/database/database.ts';
import { isTimeout } from '../../store/database/pg-errors.ts';
import { insertJob, type JobRow, type JobType } from '../../store/jobs/jobs.ts';
import type { ReadContext, SendContext } from '../http/context.ts';

/** How long a caller waits for the total. After that it is unknown until the job has ended. */
const COUNT_MS = 1_000;

/** Stores a job and wakes the runner. Input with credentials is sealed. */
export async function startJob(
  context: SendContext,
  by: { projectId: ProjectId; actor: Actor },
  job: {
    type: JobType;
    input: unknown;
    isSecret?: boolean;
    /** Rows per second at most. Undefined: no limit. */
    rate?: number | undefined;
    count: number | ((tx: Queryable) => Promise<number>);
  },
): Promise<JobRow> {
  const { ids, sealer } = context;
  const total = typeof job.count === 'number' ? job.count : await countWithin(context, job.count);
  const id = ids.next();
  const input = JSON.stringify(job.input);
  const after = {
    type: job.type,
    total,
    ...(job.rate !== undefined && { rate: job.rate }),
    ...(job.isSecret !== true && { filter: job.input }),
  };
  const row = await audited(context, by, async (tx) => {
    const result = await insertJob(tx, {
      id,
      project_id: by.projectId,
      type: job.type,
      input: job.isSecret === true ? '' : input,
      sealed: job.isSecret === true ? sealer.seal(input, `job ${id}`) : null,
      total,
      rate: job.rate ?? null,
      actor: by.actor,
    });
    return { result, audit: [{ action: 'job.started', resourceId: id, before: null, after }] };
  });
  context.wakeJobs();
  return row;
}

async function countWithin(
  context: ReadContext,
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
