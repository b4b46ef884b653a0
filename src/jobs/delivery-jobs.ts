import { LANE, openStatuses } from '../domain/delivery.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import { metaEventsOf } from '../domain/meta-event.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import { resend, resendProblem } from '../routing/resend.ts';
import { idsAfter } from '../store/database/list-page.ts';
import { type DeliveryFilter, deliveryWalk } from '../store/history/event-deliveries.ts';
import { chunkLimit, type JobWork } from '../store/jobs/jobs.ts';
import type { MetaEventRecorder } from '../store/queue/meta-event-recorder.ts';
import { endOpenDeliveries, lockDeliveries } from '../store/queue/resend-deliveries.ts';

/**
 * Jobs over deliveries. Both apply to deliveries in the wanted state at the creation of the job. Rows are
 * read in id order up to the job's own id, and each is locked and checked again before it changes.
 */
const CHUNK = 500;

/** A filter of deliveries, and whether they are sent without regard to their ordering keys. */
export interface BatchRetry extends DeliveryFilter {
  ignoresOrder?: boolean;
}

/** Retries failed and discarded deliveries. Those of deleted or inactive endpoints count as failed. */
export function batchRetry(deps: { cache: ConfigCache; sink: DeliverySink; now(): number }): JobWork {
  return async (job) => {
    const { ignoresOrder = false, ...filter } = JSON.parse(job.input) as BatchRetry;
    const limit = chunkLimit(job, CHUNK);
    const routing = await deps.cache.get(job.project_id);
    const nowMs = deps.now();
    return async (tx) => {
      const ids = await idsAfter(tx, deliveryWalk(job.project_id, filter), {
        after: job.cursor,
        before: job.id,
        limit,
      });
      const locked = await lockDeliveries(tx, job.project_id, { ids, statuses: filter.statuses ?? [] });
      const deliveries = locked.filter((delivery) => resendProblem(routing, delivery, nowMs) === null);
      const woken = await resend(tx, routing, { deliveries, lane: LANE.replay, ignoresOrder, nowMs });
      return {
        cursor: ids.length < limit ? null : (ids.at(-1) ?? null),
        done: deliveries.length,
        failed: locked.length - deliveries.length,
        committed: () => {
          for (const place of woken) deps.sink.waiting(place);
        },
      };
    };
  };
}

/** Cancels open deliveries. */
export function batchCancel(deps: { metaEvents: MetaEventRecorder; sink: DeliverySink }): JobWork {
  return async (job) => async (tx) => {
    const filter = JSON.parse(job.input) as DeliveryFilter;
    const statuses = filter.statuses?.length ? filter.statuses : [...openStatuses];
    const limit = chunkLimit(job, CHUNK);
    const ids = await idsAfter(tx, deliveryWalk(job.project_id, { ...filter, statuses }), {
      after: job.cursor,
      before: job.id,
      limit,
    });
    const { count: done, released } = await endOpenDeliveries(
      { tx, metaEvents: deps.metaEvents },
      job.project_id,
      {
        ids,
        status: 'Discarded',
        description: 'Cancelled.',
        isCancelled: true,
      },
    );
    return {
      cursor: ids.length < limit ? null : (ids.at(-1) ?? null),
      done,
      failed: 0,
      committed: () => {
        if (done === 0) return;
        for (const place of released) deps.sink.waiting(place);
        deps.sink.waiting(metaEventsOf(job.project_id));
      },
    };
  };
}
