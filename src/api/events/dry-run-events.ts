import type { Static } from 'typebox';
import { idTime } from '../../domain/ids.ts';
import type { BatchReplay } from '../../ingest/event-replayer.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { summarizeEvents } from '../../store/history/event-groups.ts';
import type { ApiContext } from '../http/context.ts';
import { iso } from '../http/fields.ts';
import { NAMED, SAMPLE } from '../jobs/dry-run.ts';
import { type Job, unstartedJob } from '../jobs/jobs.ts';

/** What a replay would do. The events are counted exactly. Where each of them goes is decided when it is replayed. */
export async function dryRunOfEvents(
  context: ApiContext,
  project: ProjectRow,
  { input, rate }: { input: BatchReplay; rate: number | undefined },
): Promise<Static<typeof Job>> {
  const { total, oldest, endpoints, statuses, sample } = await context.db.reading(project.id, (tx) =>
    summarizeEvents(tx, project.id, { ...input, sample: SAMPLE }),
  );
  const routing = await context.cache.get(project.id);
  return unstartedJob(
    { projectId: project.id, type: 'batch_replay', total, rate, nowMs: context.now() },
    {
      total,
      oldest_at: oldest === null ? null : iso(idTime(oldest)),
      endpoints: endpoints.length,
      by_endpoint: endpoints.slice(0, NAMED).map(({ endpoint_id, count }) => ({
        endpoint_id,
        name: routing.endpoints.get(endpoint_id)?.row.name ?? '',
        count,
      })),
      by_status: statuses,
      by_outcome: [],
      sample: sample.map(({ id, event_type, status }) => ({
        uid: id,
        event_type,
        endpoint_id: '',
        status,
        last_outcome: '',
        created_at: iso(idTime(id)),
      })),
    },
  );
}
