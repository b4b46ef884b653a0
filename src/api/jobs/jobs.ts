import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import type { Author } from '../../control/config-changes.ts';
import { found, wrongState } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import type { Queryable } from '../../store/database/database.ts';
import { isTimeout } from '../../store/database/pg-errors.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import {
  cancelJob,
  getJob,
  insertJob,
  type JobRow,
  type JobType,
  jobStatuses,
  jobTypes,
  listJobs,
} from '../../store/jobs/jobs.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { iso, isoOrNull, NullableTime, Time } from '../http/fields.ts';
import { DryRun } from './dry-run.ts';
import { JobResult, resultOf } from './job-result.ts';

const DRY_RUN = 'dry_run';

export const Job = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  type: oneOf(jobTypes),
  status: oneOf(
    [...jobStatuses, DRY_RUN],
    'completed: every row was processed. Queued deliveries may still wait. dry_run: nothing was started.',
  ),
  description: Type.String({ description: 'The act of the job on each row.' }),
  endpoint_id: Type.String({ description: 'The endpoint, if its filter leaves only one. Else empty.' }),
  endpoint_name: Type.String(),
  owner_id: Type.String({
    description: 'The customer, if its filter leaves endpoints of only one. Else empty.',
  }),
  endpoints: nullable(
    Type.Integer(),
    'How many endpoints it is limited to; for a dry run, how many would get something. Null: it has no such limit.',
  ),
  total: nullable(Type.Integer(), 'Rows to process; null while they are too many to count.'),
  done: Type.Integer({ description: 'Rows processed so far.' }),
  failed: Type.Integer({ description: 'Rows that could not be processed.' }),
  rate: nullable(Type.Integer(), 'Rows per second at most; null: as fast as it can.'),
  error: Type.String({ description: 'Why the job failed.' }),
  result: JobResult,
  dry_run: nullable(DryRun, 'The counts for a call with `dry_run=true`; else null.'),
  started_at: NullableTime,
  finished_at: NullableTime,
  created_at: Time,
  updated_at: Time,
});

/** A completed job has queued its deliveries. They wait and are sent like any other. */
const descriptions: Record<JobRow['type'], string> = {
  batch_replay: 'Each event is queued for delivery again; its deliveries show whether they were sent.',
  batch_retry: 'Each delivery is queued again; the delivery shows whether it was sent.',
  batch_cancel: 'Each open delivery is discarded.',
  send_now: 'Each waiting delivery is due now; its endpoint still decides when it goes.',
  onboard: 'Each item becomes an endpoint with its subscription.',
};

type Concerned = Pick<Static<typeof Job>, 'endpoint_id' | 'endpoint_name' | 'owner_id' | 'endpoints'>;
const ANY_ENDPOINT: Concerned = { endpoint_id: '', endpoint_name: '', owner_id: '', endpoints: null };

/** The endpoint and the customer that a job is about. The input of an onboarding has neither. */
function concerned({ type, input }: Pick<JobRow, 'type' | 'input'>, routing: ProjectRouting): Concerned {
  if (type === 'onboard') return ANY_ENDPOINT;
  const { endpointIds = [], only } = JSON.parse(input) as { endpointIds?: string[]; only?: string[] };
  const ids = only ?? endpointIds;
  // The filter of a replay chooses events. It may send them to others.
  const limit = type === 'batch_replay' ? only : endpointIds.length === 0 ? undefined : endpointIds;
  const endpoints = limit?.filter((id) => id !== '').length ?? null;
  const [first = '', ...others] = ids;
  const ownerOf = (id: string) => routing.endpoints.get(id)?.row.owner_id ?? '';
  const owner_id = others.every((id) => ownerOf(id) === ownerOf(first)) ? ownerOf(first) : '';
  if (others.length > 0) return { ...ANY_ENDPOINT, owner_id, endpoints };
  const endpoint_name = routing.endpoints.get(first)?.row.name ?? '';
  return { endpoint_id: first, endpoint_name, owner_id, endpoints };
}

function toJob(
  row: JobRow,
  routing: ProjectRouting,
  result: Static<typeof JobResult> = null,
): Static<typeof Job> {
  return {
    uid: row.id,
    project_id: row.project_id,
    type: row.type,
    status: row.status,
    description: descriptions[row.type],
    ...concerned(row, routing),
    total: row.total,
    done: row.done,
    failed: row.failed,
    rate: row.rate,
    error: row.error ?? '',
    result,
    dry_run: null,
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
  };
}

/** A job that is not started, with what it would do. */
export function unstartedJob(
  job: { projectId: string; type: JobType; total: number; rate: number | undefined; nowMs: number },
  dryRun: Static<typeof DryRun>,
): Static<typeof Job> {
  return {
    uid: '',
    project_id: job.projectId,
    type: job.type,
    status: DRY_RUN,
    description: descriptions[job.type],
    ...ANY_ENDPOINT,
    endpoints: dryRun.endpoints,
    total: job.total,
    done: 0,
    failed: 0,
    rate: job.rate ?? null,
    error: '',
    result: null,
    dry_run: dryRun,
    started_at: null,
    finished_at: null,
    created_at: iso(job.nowMs),
    updated_at: iso(job.nowMs),
  };
}

/** Sets the path of a started job in the response, and returns the job. */
export async function startedJob(
  { cache }: Pick<ReadContext, 'cache'>,
  reply: FastifyReply,
  row: JobRow,
): Promise<Static<typeof Job>> {
  reply.header('location', `/api/v1/projects/${row.project_id}/jobs/${row.id}`);
  return toJob(row, await cache.get(row.project_id));
}

export function registerJobs(app: FastifyInstance, context: ReadContext): void {
  const { db, cache } = context;
  const job = crud(app, db, {
    tag: 'Jobs',
    noun: 'job',
    path: '/api/v1/projects/:projectID/jobs',
    param: 'jobID',
    data: Job,
    access: { read: 'viewer', change: 'developer' },
    get: async ({ project, scope, actor }, id) => {
      const row = await getJob(db, project.id, id);
      const isOwn = row?.actor_type === actor.type && row.actor_id === actor.id;
      return scope === undefined || isOwn ? row : undefined;
    },
    view: async ({ project }, [first, ...more]) => {
      const routing = await cache.get(project.id);
      const result = first === undefined || more.length > 0 ? null : await resultOf(context, first);
      return (row: JobRow) => toJob(row, routing, result);
    },
  });
  job.pages({
    summary: 'List the background jobs.',
    read: (tx, projectId, { page }) => listJobs(tx, projectId, page),
  });
  job.get({
    summary: 'Get a job and its progress. A portal link sees the jobs that it has started.',
    portal: 'read',
  });
  job.act('put', 'cancel', {
    id: 'cancelJob',
    summary: 'Cancel a job. Finished work stays done.',
    acts: true,
    status: 202,
    message: 'Job cancelled',
    make: async ({ by, params: { jobID: id } }) => {
      const cancelled = await audited(context, by, async (tx) => {
        const row = await cancelJob(tx, by.projectId, id);
        if (row === undefined) return { result: undefined, audit: [] };
        const { type, done, failed, total } = row;
        const after = { type, done, failed, total };
        return { result: row, audit: [{ action: 'job.cancelled', resourceId: id, before: null, after }] };
      });
      if (cancelled !== undefined) return cancelled;
      const { status } = found(await getJob(db, by.projectId, id), 'job', id);
      throw wrongState(`This job has already ended: ${status}.`);
    },
  });
}

/** How long a caller waits for the total. After that it is unknown until the job has ended. */
const COUNT_MS = 1_000;

/** Stores a job, wakes the runner, and answers with the job. Input with credentials is sealed. */
export async function startJob(
  context: SendContext,
  { by, reply }: { by: Author; reply: FastifyReply },
  job: {
    type: JobType;
    input: unknown;
    isSecret?: boolean;
    /** Rows per second at most. Undefined: no limit. */
    rate?: number | undefined;
    count: number | ((tx: Queryable) => Promise<number>);
  },
): Promise<Static<typeof Job>> {
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
  return startedJob(context, reply, row);
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
