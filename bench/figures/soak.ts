import { type Figure, median, type Sample } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import { loadedService, steadyLoad, subjectOf } from '../subjects.ts';

/**
 * Half an hour at 70 % of the closed loop's rate just before, in slices of a minute: no loss, no growth. The
 * last third is compared with the first. A delivery that ends leaves one dead row in its table and one in the
 * queue. The share of the former and the size of the latter show whether autovacuum keeps up.
 */
export const soak: Figure = {
  name: 'soak',
  rounds: () => 1,
  isLong: true,
  run: async (stage) => {
    const service = await loadedService(stage);
    const { soakSeconds, soakSlices } = stage.plan;
    const subject = subjectOf(service);
    const load = await steadyLoad(stage, subject, soakSeconds / soakSlices);
    const slices: Sample[] = [];
    for (let n = 1; n <= soakSlices; n++) {
      const slice = { ...(await measureDeliveries(stage, subject, load)), ...(await deadRows(service)) };
      slices.push(slice);
      process.stderr.write(`soak ${n} of ${soakSlices}: ${shown(slice)}\n`);
    }
    return { ...summary(slices), seconds: soakSeconds, ratePerSecond: load.ratePerSecond };
  },
};

function deadRows(service: Service): Promise<Sample> {
  return service.query<Sample>(
    `select pg_table_size('delivery_queue') / 1048576.0::float8 as "queueMb",
       (sum(n_dead_tup) / greatest(sum(n_live_tup + n_dead_tup), 1))::float8 as "deadShare"
     from pg_stat_user_tables where relname ~ '^(events|event_deliveries|delivery_attempts)'`,
  );
}

const SHOWN = [
  'eventsPerSecond',
  'p50Ms',
  'p99Ms',
  'memoryServiceMb',
  'memoryDatabaseMb',
  'queueMb',
  'deadShare',
];

const shown = (slice: Sample): string =>
  SHOWN.map((name) => `${name} ${(slice[name] as number).toFixed(2)}`).join(', ');

function summary(slices: Sample[]): Sample {
  const third = Math.ceil(slices.length / 3);
  const middle = (part: Sample[], name: string) => median(part.map((slice) => slice[name] as number));
  const total = (name: string) => slices.reduce((sum, slice) => sum + (slice[name] as number), 0);
  const sample: Sample = {
    ...Object.fromEntries(Object.keys(slices[0] as Sample).map((name) => [name, middle(slices, name)])),
    events: total('events'),
    lost: total('lost'),
    duplicates: total('duplicates'),
  };
  sample['deadShareMost'] = Math.max(...slices.map((slice) => slice['deadShare'] as number));
  for (const name of ['p50Ms', 'p99Ms', 'memoryServiceMb', 'queueMb']) {
    sample[`${name}First`] = middle(slices.slice(0, third), name);
    sample[`${name}Last`] = middle(slices.slice(-third), name);
  }
  return sample;
}
