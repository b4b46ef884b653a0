import type { Figure, Sample } from '../figure.ts';
import { measureAccepts, measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { batched, LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * Calls of 100 events against calls of one, on one service in one round: events that are stored with a delivery that waits to be
 * pulled, so that sending, which costs the same for both, is left out. Then calls of 100 that are sent, for what is lost or doubled.
 */
const BATCH = 100;
/** So that fewer events are under way than the service lets one project have. */
const CONNECTIONS = 8;
const STORED_EVENT = 'stored';

export const eventsBatch: Figure = {
  name: 'events_batch',
  rounds: ({ rounds }) => Math.ceil(rounds / 2),
  run: async (stage) => {
    const service = await batchService(stage);
    const { seconds, connections } = stage.plan;
    const [one, many] = [subjectOf(service), batched(service)];
    const single = { seconds, connections };
    const together = { seconds, connections: Math.min(CONNECTIONS, connections), batch: BATCH };
    const before = await storedEvents(service);
    const alone = await measureAccepts(stage, one, { ...single, eventType: STORED_EVENT });
    const batch = await measureAccepts(stage, many, { ...together, eventType: STORED_EVENT });
    const events = of(alone, 'events') + of(batch, 'events');
    const lost = before + events - (await storedEvents(service));
    // Waiting deliveries of the round would be a backlog of the next.
    await service.db.query('delete from delivery_queue');
    const sent = await measureDeliveries(stage, many, { ...together, eventType: LOAD_EVENT });
    return {
      ...batch,
      alone: of(alone, 'eventsPerSecond'),
      ratio: of(batch, 'eventsPerSecond') / of(alone, 'eventsPerSecond'),
      microsAlone: alone['microsService'] ?? Number.NaN,
      microsDatabaseAlone: alone['microsDatabase'] ?? Number.NaN,
      cpuRatio: (batch['microsService'] ?? Number.NaN) / (alone['microsService'] ?? Number.NaN),
      p50Ms: of(sent, 'p50Ms'),
      p99Ms: of(sent, 'p99Ms'),
      events: events + of(sent, 'events'),
      lost: lost + of(sent, 'lost'),
      duplicates: of(sent, 'duplicates'),
    };
  },
};

const of = (sample: Sample, name: string): number => sample[name] as number;

async function storedEvents(service: Service): Promise<number> {
  return (await service.query<{ count: number }>('select count(*)::int as count from events')).count;
}

function batchService(stage: Stage): Promise<Service> {
  return stage.keep('service with batches', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await service.subscribe('', STORED_EVENT, { endpoint: { delivery: 'pull' } });
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    const { warmUpSeconds, connections } = stage.plan;
    const load = { connections: Math.min(CONNECTIONS, connections), batch: BATCH, eventType: LOAD_EVENT };
    await measureDeliveries(stage, batched(service), { ...load, seconds: warmUpSeconds / 3 });
    return { value: service };
  });
}
