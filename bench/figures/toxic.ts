import type { Figure } from '../figure.ts';
import type { LoadResult } from '../load-generator.ts';
import { arrived, measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * One endpoint never answers and has a backlog that is due. How much later do the others' deliveries arrive?
 * Compared with the same run without it, in which an endpoint that answers received as many events right
 * before. The server's vacuum and write-back of those events finishes before either measurement. It is the
 * cost of the events, not of their endpoint, and tenths of a second of it would affect one or the other by
 * chance.
 */
const RATE_PER_SECOND = 500;
const TIMEOUT_SECONDS = 10;

export const toxic: Figure = {
  name: 'toxic',
  rounds: ({ rounds }) => Math.ceil(rounds / 2),
  run: async (stage) => {
    const service = await stage.startService();
    try {
      await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      await service.subscribe(`${stage.sinkUrl}/hang`, 'toxic', {
        endpoint: { http_timeout: TIMEOUT_SECONDS },
      });
      await service.subscribe(`${stage.sinkUrl}/ok`, 'harmless');
      await warmUp(stage, subjectOf(service), LOAD_EVENT);
      await publishBacklog(stage, service, 'harmless');
      await arrived(stage, (sink) => sink.distinct >= stage.plan.toxicBacklog);
      const without = await others(stage, service);
      await publishBacklog(stage, service, 'toxic');
      await arrived(stage, (sink) => sink.hanging > 0);
      const beside = await others(stage, service);
      return {
        p50Ms: beside.p50Ms,
        p99Ms: beside.p99Ms,
        p50WithoutMs: without.p50Ms,
        p99WithoutMs: without.p99Ms,
        ratio: beside.p99Ms / without.p99Ms,
        backlog: stage.plan.toxicBacklog,
        events: without.events + beside.events,
        lost: without.lost + beside.lost,
        duplicates: without.duplicates + beside.duplicates,
      };
    } finally {
      await service.stop();
    }
  },
};

async function publishBacklog(stage: Stage, service: Service, eventType: string): Promise<void> {
  const run = await stage.newRun();
  await stage.load.call<LoadResult>('run', {
    url: service.broadcastUrl,
    authorization: service.authorization,
    eventType,
    run,
    connections: stage.plan.connections,
    count: stage.plan.toxicBacklog,
  });
}

interface Others {
  p50Ms: number;
  p99Ms: number;
  events: number;
  lost: number;
  duplicates: number;
}

async function others(stage: Stage, service: Service): Promise<Others> {
  await service.db.query('vacuum (analyze)');
  await service.db.query('checkpoint');
  // The toxic backlog is never recorded within the measurement, so it waits only for arrival.
  const subject = { ...subjectOf(service), isRecorded: async () => true };
  const { seconds, connections } = stage.plan;
  return (await measureDeliveries(stage, subject, {
    eventType: LOAD_EVENT,
    seconds,
    connections,
    ratePerSecond: RATE_PER_SECOND,
  })) as unknown as Others;
}
