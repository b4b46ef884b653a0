import { idTime } from '../../domain/ids.ts';
import { nullable, Type } from '../../platform/type.ts';
import { unlessTooSlow } from '../../store/database/unless-too-slow.ts';
import type { DeliveryFilter } from '../../store/history/event-deliveries.ts';
import { countChanged, type ResentCounts } from '../../store/history/resent-counts.ts';
import type { JobRow } from '../../store/jobs/jobs.ts';
import type { ReadContext } from '../http/context.ts';

const count = Type.Integer();

export const RetryResult = Type.Object({
  delivered: count,
  failed: Type.Integer({ description: 'They have no tries left, or were discarded.' }),
  retrying: Type.Integer({ description: 'The try failed again, and another follows.' }),
  waiting: Type.Integer({ description: 'They were not tried yet.' }),
});

export const JobResult = nullable(
  RetryResult,
  'The states of the deliveries of a completed retry. Null in lists, for other jobs, and after another retry of the same deliveries.',
);

const NONE: ResentCounts = { delivered: 0, failed: 0, retrying: 0, waiting: 0 };

/**
 * The job keeps no list of its deliveries. They are those of its filter that have changed since and have a later retry
 * budget. Discarded ones may not have one. Null: others were sent again meanwhile.
 */
export async function resultOf({ db }: ReadContext, job: JobRow): Promise<ResentCounts | null> {
  if (job.type !== 'batch_retry' || job.status !== 'completed' || job.done === 0) return null;
  const { statuses = [], text, ...given } = JSON.parse(job.input) as DeliveryFilter;
  // The description that the text was found in may have changed.
  if (text !== undefined) return null;
  const filter = { ...given, outcomes: undefined, isCancelled: undefined, endedFromMs: undefined };
  const asked = { filter, beforeId: job.id, sinceMs: idTime(job.id) };
  const found = await unlessTooSlow(
    db.reading(job.project_id, (tx) => countChanged(tx, job.project_id, asked)),
  );
  if (found === null) return null;
  const { later = NONE, first = NONE } = Object.fromEntries(found);
  const isAll = total(later) >= job.done || !statuses.includes('Discarded');
  const result = isAll ? later : added(later, first);
  return total(result) > job.done ? null : result;
}

const total = (counts: ResentCounts): number =>
  counts.delivered + counts.failed + counts.retrying + counts.waiting;

const added = (a: ResentCounts, b: ResentCounts): ResentCounts => ({
  delivered: a.delivered + b.delivered,
  failed: a.failed + b.failed,
  retrying: a.retrying + b.retrying,
  waiting: a.waiting + b.waiting,
});
