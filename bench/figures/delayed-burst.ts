import { setTimeout as pause } from 'node:timers/promises';
import type { Figure, Sample } from '../figure.ts';
import type { LoadResult } from '../load-generator.ts';
import { measureDeliveries } from '../measure.ts';
import { compared } from '../report/compared.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * Events of one tenant are due in the same second. How much later do another tenant's deliveries arrive until all
 * of them are sent? Compared with the same rate before, when they are stored and not due.
 */
const RATE_PER_SECOND = 300;
const CONNECTIONS = 64;
const LATER = 'later';
const BATCH = 100;
const STORE_SECONDS_PER_EVENT = 1 / 2_000;
/** The measurement before takes so many times the usual seconds: a few slow requests would change its p99. */
const BEFORE = 4;
/** For the vacuum and the measurement before. */
const LEAD_SECONDS = 30;
const LONGEST_SECONDS = 600;
const EARLY_MS = 500;
const POLL_MS = 500;

export const delayedBurst: Figure = {
  name: 'delayed_burst',
  rounds: () => 1,
  run: async (stage) => {
    const service = await stage.startService();
    try {
      const others = await service.newTenant('others');
      await others.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      await service.subscribe(`${stage.sinkUrl}/ok`, LATER);
      await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      await warmUp(stage, subjectOf(service), LOAD_EVENT);
      const dueAt = await storeLater(stage, service);
      await service.db.query('vacuum (analyze)');
      await service.db.query('checkpoint');
      const before = await measureOthers(stage, others, stage.plan.seconds * BEFORE);
      await pause(Math.max(0, dueAt - Date.now() - EARLY_MS));
      const beside = await measureUntilSent(stage, { service, others });
      return { ...compared(before, beside), ...(await lateness(service)), backlog: stage.plan.delayedEvents };
    } finally {
      await service.stop();
    }
  },
};

async function storeLater(stage: Stage, service: Service): Promise<number> {
  const { delayedEvents: count } = stage.plan;
  const dueAt = Math.ceil(Date.now() / 1000 + LEAD_SECONDS + count * STORE_SECONDS_PER_EVENT) * 1000;
  const { refused, refusal } = await stage.load.call<LoadResult>('run', {
    url: service.broadcastUrl.replace(/broadcast$/, 'batch'),
    authorization: service.authorization,
    eventType: LATER,
    deliverAt: new Date(dueAt).toISOString(),
    batch: BATCH,
    run: 0,
    connections: 8,
    count,
  });
  if (refused > 0) throw new Error(`${refused} delayed events refused; the first: ${refusal}`);
  if (Date.now() > dueAt - stage.plan.seconds * 1000)
    throw new Error('the delayed events were stored too slowly');
  return dueAt;
}

/** The others' deliveries. Those of the delayed events are open, so it waits only for the others' arrival. */
function measureOthers(stage: Stage, others: Service, seconds: number): Promise<Sample> {
  const subject = { ...subjectOf(others), isRecorded: async () => true };
  return measureDeliveries(stage, subject, {
    eventType: LOAD_EVENT,
    seconds,
    connections: CONNECTIONS,
    ratePerSecond: RATE_PER_SECOND,
  });
}

/** From just before the delivery time until the last of the delayed events was claimed. */
async function measureUntilSent(stage: Stage, of: { service: Service; others: Service }): Promise<Sample> {
  const stopWhenSent = async () => {
    await pause(2 * EARLY_MS);
    while ((await waiting(of.service)) > 0) await pause(POLL_MS);
    await stage.load.call('stop');
  };
  const [sample] = await Promise.all([measureOthers(stage, of.others, LONGEST_SECONDS), stopWhenSent()]);
  return sample;
}

async function waiting(service: Service): Promise<number> {
  const count = 'select count(*)::int as count from delivery_queue where node_id is null';
  return (await service.query<{ count: number }>(count)).count;
}

/** Milliseconds from the delivery time to the request. */
async function lateness(service: Service): Promise<Sample> {
  return service.query<{ earlyMs: number; lateP50Ms: number; lateP99Ms: number }>(
    `with late as (
       select extract(epoch from d.attempt_at - e.deliver_at)::float8 * 1000 as ms
       from event_deliveries d
       join events e on e.project_id = d.project_id and e.id = d.event_id
       where e.deliver_at is not null)
     select greatest(0, -min(ms)) as "earlyMs", percentile_cont(0.5) within group (order by ms) as "lateP50Ms",
       percentile_cont(0.99) within group (order by ms) as "lateP99Ms" from late`,
  );
}
