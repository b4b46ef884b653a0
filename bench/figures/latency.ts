import type { Figure } from '../figure.ts';
import type { LoadResult } from '../load-generator.ts';
import { arrived, measureDeliveries } from '../measure.ts';
import { LOAD_EVENT, quietService, subjectOf } from '../subjects.ts';

/** One event at a time on a service at rest: publish to receive. */
const PAUSE_MS = 20;

export const idleLatency: Figure = {
  name: 'idle_latency',
  rounds: ({ rounds }) => Math.min(rounds, 3),
  run: async (stage) => {
    const service = await quietService(stage);
    const { p50Ms, p99Ms, ackP50Ms, ackP99Ms, lost, duplicates, events } = await measureDeliveries(
      stage,
      subjectOf(service),
      { count: stage.plan.idleEvents, connections: 1, pauseMs: PAUSE_MS, eventType: LOAD_EVENT },
    );
    return { p50Ms, p99Ms, ackP50Ms, ackP99Ms, lost, duplicates, events } as Record<string, number>;
  },
};

/** The endpoint fails each event once. The second attempt is due a second later. */
const RETRIES_PER_SECOND = 200;

export const retryLateness: Figure = {
  name: 'retry_lateness',
  rounds: ({ rounds }) => Math.min(rounds, 2),
  run: async (stage) => {
    const service = await quietService(stage);
    const run = await stage.newRun();
    const { retryEvents } = stage.plan;
    await stage.load.call<LoadResult>('run', {
      url: service.broadcastUrl,
      authorization: service.authorization,
      eventType: 'flaky',
      run,
      connections: 32,
      count: retryEvents,
      ratePerSecond: RETRIES_PER_SECOND,
    });
    const { received, distinct, lateP50Ms, lateP99Ms } = await arrived(
      stage,
      (sink) => sink.received >= 2 * retryEvents,
    );
    return {
      p50Ms: lateP50Ms,
      p99Ms: lateP99Ms,
      events: retryEvents,
      lost: retryEvents - distinct,
      duplicates: received - 2 * retryEvents,
    };
  },
};
