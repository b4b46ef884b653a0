import pg from 'pg';
import { Child } from './child.ts';
import { measureDeliveries, type Subject } from './measure.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

/** The measured systems, each warmed up once, because the first seconds of a process go to the compiler. */
export const LOAD_EVENT = 'load';

export function subjectOf(service: Service): Subject {
  return {
    url: service.broadcastUrl,
    authorization: service.authorization,
    pid: service.pid,
    isRecorded: () => service.isIdle(),
  };
}

/** The service by the call that takes many events. */
export const batched = (service: Service): Subject => ({
  ...subjectOf(service),
  url: service.broadcastUrl.replace(/broadcast$/, 'batch'),
});

/** The service under load: one endpoint, one subscription. Nothing else runs on its database. */
export function loadedService(stage: Stage): Promise<Service> {
  return stage.keep('loaded service', async () => {
    const { profileDir } = stage.plan;
    const service = await stage.startService({
      reportsHeap: true,
      ...(profileDir !== undefined && { profileDir }),
    });
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });
}

/** Another service for measurements at rest. */
export function quietService(stage: Stage): Promise<Service> {
  return stage.keep('quiet service', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await service.subscribe(`${stage.sinkUrl}/flaky`, 'flaky', {
      subscription: { retry_config: { type: 'linear', interval_seconds: 0, retry_count: 5 } },
    });
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });
}

export function relay(stage: Stage): Promise<Subject> {
  return stage.keep('relay', async () => {
    const child = new Child('./relay.ts');
    const url = await child.call<string>('start', `${stage.sinkUrl}/ok`);
    const subject = { url, authorization: 'none', pid: child.pid, isRecorded: async () => true };
    await warmUp(stage, subject);
    return { value: subject, stop: () => child.stop() };
  });
}

export function diyGraphile(stage: Stage): Promise<Subject> {
  return stage.keep('do it yourself', async () => {
    const child = new Child('./diy-graphile.ts');
    const databaseUrl = await stage.createDatabase();
    const url = await child.call<string>('start', { databaseUrl, url: `${stage.sinkUrl}/ok` });
    const db = new pg.Client(databaseUrl);
    await db.connect();
    const isRecorded = async () => {
      const { rows } = await db.query(
        'select not exists (select from graphile_worker._private_jobs) as idle',
      );
      return (rows[0] as { idle: boolean }).idle;
    };
    const subject = { url, authorization: 'none', pid: child.pid, isRecorded };
    await warmUp(stage, subject);
    const stop = async () => {
      await db.end();
      await child.stop();
    };
    return { value: subject, stop };
  });
}

export async function warmUp(stage: Stage, subject: Subject, eventType?: string): Promise<void> {
  const { warmUpSeconds, connections } = stage.plan;
  await measureDeliveries(stage, subject, {
    seconds: warmUpSeconds,
    connections,
    ...(eventType !== undefined && { eventType }),
  });
}

const STEADY_SHARE = 0.7;

/**
 * A constant load at 70 % of the closed loop's rate right now. It ends with its last event, not with its time: a
 * service that falls behind gets all of them.
 */
export async function steadyLoad(stage: Stage, subject: Subject, seconds: number) {
  const load = { connections: stage.plan.connections, eventType: LOAD_EVENT };
  const peak = await measureDeliveries(stage, subject, { ...load, seconds: stage.plan.seconds });
  const ratePerSecond = Math.floor((peak['eventsPerSecond'] as number) * STEADY_SHARE);
  return { ...load, count: Math.ceil(ratePerSecond * seconds), ratePerSecond };
}
