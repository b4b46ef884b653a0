import type { Static } from 'typebox';
import { firstIdAt, idTime } from '../../domain/ids.ts';
import type { BatchReplay } from '../../jobs/replay-job.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { summarizeEvents } from '../../store/history/event-groups.ts';
import { eventConditions, eventsAfter } from '../../store/history/events.ts';
import type { SendContext } from '../http/context.ts';
import { iso } from '../http/fields.ts';
import { NAMED, SAMPLE } from '../jobs/dry-run.ts';
import { type Job, unstartedJob } from '../jobs/jobs.ts';

/** At most so many events are matched, and no more after this time. The rest is extrapolated. */
const MAX_EVENTS = 2_000;
const MAX_MS = 3_000;
const CHUNK_EVENTS = 50;

/** Counts the events of a replay exactly, and its deliveries by matching the events again. */
export async function dryRunOfEvents(
  context: SendContext,
  project: ProjectRow,
  { input, rate }: { input: BatchReplay; rate: number | undefined },
): Promise<Static<typeof Job>> {
  const { total, oldest, statuses, sample } = await context.db.reading(project.id, (tx) =>
    summarizeEvents(tx, project.id, { ...input, sample: SAMPLE }),
  );
  const { endpoints } = await context.cache.refresh(project.id);
  const { examined, counts } = await matchAgain(context, project, input);
  const isEstimate = examined > 0 && examined < total;
  const scaled = (count: number) => (isEstimate ? Math.round((count * total) / examined) : count);
  const byEndpoint = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return unstartedJob(
    { projectId: project.id, type: 'batch_replay', total, rate, nowMs: context.now() },
    {
      total,
      deliveries: scaled(byEndpoint.reduce((sum, [, count]) => sum + count, 0)),
      examined,
      is_estimate: isEstimate,
      oldest_at: oldest === null ? null : iso(idTime(oldest)),
      endpoints: byEndpoint.length,
      by_endpoint: byEndpoint.slice(0, NAMED).map(([id, count]) => ({
        endpoint_id: id,
        name: endpoints.get(id)?.row.name ?? '',
        count: scaled(count),
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

/** How many deliveries each endpoint would get of the oldest events, in the order of the job. */
async function matchAgain(
  { db, cache, replayer, now }: SendContext,
  project: ProjectRow,
  { only, ...filter }: BatchReplay,
): Promise<{ examined: number; counts: Map<string, number> }> {
  const routing = await cache.get(project.id);
  const endsAt = performance.now() + MAX_MS;
  const before = firstIdAt(now() + 1);
  const counts = new Map<string, number>();
  let [examined, after] = [0, ''];
  while (examined < MAX_EVENTS) {
    const run = { after, before, limit: CHUNK_EVENTS };
    const events = await db.reading(project.id, (tx) =>
      eventsAfter(tx, eventConditions(project.id, filter), run),
    );
    for (const event of events) {
      if (examined > 0 && performance.now() > endsAt) return { examined, counts };
      for (const id of await replayer.trial(event, { routing, only }))
        counts.set(id, (counts.get(id) ?? 0) + 1);
      examined += 1;
    }
    if (events.length < CHUNK_EVENTS) break;
    after = events.at(-1)?.id ?? after;
  }
  return { examined, counts };
}
