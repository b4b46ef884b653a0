import { LANE } from '../domain/delivery.ts';
import type { EventReplayer } from '../ingest/event-replayer.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Database } from '../store/database/database.ts';
import { type EventFilter, eventConditions, eventsAfter } from '../store/history/events.ts';
import { chunkLimit, type JobChunk, type JobRow, type JobWork, jobTransaction } from '../store/jobs/jobs.ts';
import { isExpanding } from '../store/queue/expansions.ts';
import type { SettledIds } from './settled-ids.ts';

/**
 * Replays events in id order up to its job's id. Events with smaller ids may be uncommitted, so it reads only as far as
 * ids are settled, and skips none.
 *
 * A job has one large fan-out in progress at a time, so that it neither fills the table of expansions nor runs ahead of
 * the queue, and it ends when all its deliveries are in the queue.
 */
const CHUNK_EVENTS = 100;
/** Functions of sources may be slow. A job is not taken by another node before 10 s. */
const DECODE_MS = 5_000;
/** A job looks this often whether its large fan-out is done. */
const EXPANDING_MS = 200;

/** A filter of events, the endpoints that may get them, if not all, and whether ordering keys are ignored. */
export interface BatchReplay extends EventFilter {
  only?: readonly string[];
  ignoresOrder?: boolean;
}

/** One chunk of a batch replay. Events that no longer match anything count as failed, those for others as done. */
export function batchReplay(deps: {
  replayer: EventReplayer;
  db: Database;
  cache: ConfigCache;
  settled: SettledIds;
}): JobWork {
  const { replayer, db, cache, settled } = deps;
  return async (job) => {
    if (await isExpanding(db, job.project_id, LANE.replay)) return async () => waits(job, EXPANDING_MS);
    const { only, ignoresOrder = false, ...filter } = JSON.parse(job.input) as BatchReplay;
    const limit = chunkLimit(job, CHUNK_EVENTS);
    const { before, waitMs } = await settled.upTo(job.id, filter.toMs);
    const events = await jobTransaction(db, (tx) =>
      eventsAfter(tx, eventConditions(job.project_id, filter), { after: job.cursor, before, limit }),
    );
    const routing = await cache.refresh(job.project_id);
    const decoded = await replayer.decode(events, routing, DECODE_MS);
    return async (tx) => {
      const replayed = await replayer.store(tx, decoded, { routing, lane: LANE.replay, only, ignoresOrder });
      const read = replayed.counts.length;
      const { failed } = replayed;
      const isLast = events.length < limit && read === events.length;
      const isDone = isLast && waitMs === null && !replayed.isExpanding;
      return {
        cursor: isDone ? null : (events[read - 1]?.id ?? job.cursor),
        done: read - failed,
        failed,
        ...(isLast && waitMs !== null && { delayMs: waitMs }),
        committed: () => replayer.made(job.project_id, replayed, LANE.replay),
      };
    };
  };
}

/** A chunk that does nothing. */
function waits(job: JobRow, delayMs: number): JobChunk {
  return { cursor: job.cursor, done: 0, failed: 0, delayMs };
}
