import type { Static } from 'typebox';
import { idTime } from '../../domain/ids.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { summarizeDeliveries } from '../../store/history/delivery-groups.ts';
import { type DeliveryFilter, listDeliveries } from '../../store/history/event-deliveries.ts';
import type { JobType } from '../../store/jobs/jobs.ts';
import type { ReadContext } from '../http/context.ts';
import { iso } from '../http/fields.ts';
import { NAMED, SAMPLE } from '../jobs/dry-run.ts';
import { type Job, unstartedJob } from '../jobs/jobs.ts';

/** Counts the deliveries that a job would take: exactly, within the time limit of a search. */
export async function dryRunOfDeliveries(
  context: ReadContext,
  project: ProjectRow,
  job: { type: JobType; filter: DeliveryFilter; rate: number | undefined },
): Promise<Static<typeof Job>> {
  const page = { perPage: SAMPLE, direction: 'next', cursor: null, order: 'DESC' } as const;
  const { summary, sample } = await context.db.reading(project.id, async (tx) => ({
    summary: await summarizeDeliveries(tx, project.id, job.filter),
    sample: await listDeliveries(tx, project.id, { ...job.filter, page }),
  }));
  const { endpoints } = await context.cache.get(project.id);
  const { total, oldest, statuses, outcomes } = summary;
  return unstartedJob(
    { projectId: project.id, type: job.type, total, rate: job.rate, nowMs: context.now() },
    {
      total,
      deliveries: total,
      examined: total,
      is_estimate: false,
      oldest_at: oldest === null ? null : iso(idTime(oldest)),
      endpoints: summary.endpoints.length,
      by_endpoint: summary.endpoints.slice(0, NAMED).map(({ endpoint_id, count }) => ({
        endpoint_id,
        name: endpoints.get(endpoint_id)?.row.name ?? '',
        count,
      })),
      by_status: statuses,
      by_outcome: outcomes,
      sample: sample.rows.map((row) => ({
        uid: row.id,
        event_type: row.event_type,
        endpoint_id: row.endpoint_id,
        status: row.status,
        last_outcome: row.last_outcome ?? '',
        created_at: iso(idTime(row.id)),
      })),
    },
  );
}
