import { statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { usageOf } from './cost/process-usage.ts';
import { PLANS, type Sample } from './figure.ts';
import { measureDeliveries } from './measure.ts';
import type { Goal } from './report/goals.ts';
import { machine } from './report/machine.ts';
import { costOf, STATISTICS_SETTINGS } from './scaling/cost.ts';
import { addEndpoints, addProjects, addStoredRows, addSubscriptions, type Pair } from './scaling/grow.ts';
import { scalingReport } from './scaling/report.ts';
import type { Service } from './service.ts';
import { Stage } from './stage.ts';
import { subjectOf } from './subjects.ts';

/**
 * The cost of one event as the installation grows along one axis and everything else stays the same. It
 * counts instead of timing, so that a busy machine changes little. Run by `npm run bench -- scaling`; results
 * are in docs/scaling.md.
 *
 * Each step has its own service and database. Events go to an endpoint that answers (`straight`: stored,
 * sent, recorded) and to one that fails each event once (`retried`: also claimed and sent again).
 */
interface Axis {
  name: string;
  steps(options: ScalingOptions): number[];
  /** Settings of the service at a step. */
  env?(step: number): Record<string, string>;
  nodes?(step: number): number;
  /** The number of event types, used in turn. */
  types?(step: number): number;
  grow?(service: Service, pairs: { straight: Pair; retried: Pair }, step: number): Promise<void>;
}

export interface ScalingOptions {
  full: boolean;
  smoke: boolean;
  only?: string;
  json?: string;
  /** For each node and measurement. */
  events?: string;
}

export interface ScalingResults {
  machine: ReturnType<typeof machine>;
  /** By axis, then by step. */
  figures: Record<string, Record<string, Sample>>;
  goals: Goal[];
}

const byRun = (smoke: number[], usual: number[], full: number[]) => (options: ScalingOptions) =>
  options.smoke ? smoke : options.full ? full : usual;

export const AXES: Axis[] = [
  {
    name: 'nodes',
    steps: byRun([1, 2], [1, 2, 4], [1, 2, 4]),
    env: (step) => ({ POSTHORN_PROCESSES: String(step) }),
    nodes: (step) => step,
  },
  {
    name: 'endpoints',
    steps: byRun([1, 50], [1, 100, 10_000], [1, 100, 10_000]),
    types: (step) => step,
    grow: async (service, { straight, retried }, step) => {
      await addEndpoints(service, straight, step);
      await addEndpoints(service, retried, step);
    },
  },
  {
    name: 'subscriptions',
    steps: byRun([1, 1_000], [1, 1_000, 100_000], [1, 1_000, 100_000]),
    grow: (service, { straight }, step) => addSubscriptions(service, straight, step),
  },
  {
    name: 'projects',
    steps: byRun([1, 1_000], [1, 10_000], [1, 10_000]),
    grow: (service, { straight }, step) => addProjects(service, straight, step),
  },
  {
    name: 'stored_deliveries',
    steps: byRun([0, 20_000], [0, 1_000_000], [0, 1_000_000, 10_000_000]),
    grow: (service, _pairs, step) => addStoredRows(service, step),
  },
];

/** Bytes of a delivery with its attempt and a tenth of an event, with room for WAL and vacuum. */
const DISK_BYTES_PER_ROW = 3_000;

const resultsOf = (stage: Stage, figures: ScalingResults['figures']): ScalingResults => ({
  machine: machine(stage.postgresVersion),
  figures,
  goals: goalsOf(figures),
});

export async function runScaling(options: ScalingOptions): Promise<void> {
  const wanted = options.only?.split(',');
  const axes = AXES.filter(({ name }) => wanted?.includes(name) ?? true);
  await refuseSmallDisk(
    Math.max(...axes.filter((a) => a.name === 'stored_deliveries').flatMap((a) => a.steps(options)), 0),
  );
  const stages: Stage[] = [];
  const newStage = async (): Promise<Stage> => {
    const stage = await Stage.start(options.smoke ? PLANS.smoke : PLANS.default, STATISTICS_SETTINGS);
    stages.push(stage);
    return stage;
  };
  const stopAll = () => Promise.all(stages.map((stage) => stage.stop()));
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stopAll().finally(() => process.exit(1)));
  const figures: ScalingResults['figures'] = {};
  try {
    const events = Number(options.events ?? (options.smoke ? 300 : 4_000));
    for (const axis of axes) {
      const steps: Record<string, Sample> = {};
      const measure = async (step: number, on: Stage) => {
        process.stderr.write(`${axis.name}: ${step}\n`);
        steps[step] = await measureStep(on, axis, { step, events });
        figures[axis.name] = steps;
      };
      // A smoke run only counts. Its steps wait for statistics most of the time, so they run side by side.
      const all = axis.steps(options);
      for (const together of options.smoke ? [all] : all.map((step) => [step])) {
        await Promise.all(together.map(async (step, n) => measure(step, stages[n] ?? (await newStage()))));
        // Written after each step, because long steps take a while and results must not be lost.
        if (options.json !== undefined)
          await writeFile(
            options.json,
            `${JSON.stringify(resultsOf(stages[0] as Stage, figures), null, 2)}\n`,
          );
      }
    }
    console.log(scalingReport(resultsOf(stages[0] as Stage, figures)));
  } finally {
    await stopAll();
  }
}

/** An idle connection reports its counts within ten seconds. Earlier work must not be counted. */
const STATISTICS_LATE_MS = 11_000;

async function measureStep(
  stage: Stage,
  axis: Axis,
  { step, events }: { step: number; events: number },
): Promise<Sample> {
  const service = await stage.startService({ env: axis.env?.(step) ?? {} });
  await service.db.query('create extension pg_stat_statements');
  await neverOpenBreakers(service);
  const straight = await subscribe(service, `${stage.sinkUrl}/ok`, 'straight');
  const retried = await subscribe(service, `${stage.sinkUrl}/flaky`, 'retried');
  const nodes = axis.nodes?.(step) ?? 1;
  const types = { eventTypes: axis.types?.(step) ?? 1 };
  // The load of each node stays the same, because its batches depend on it.
  const connections = stage.plan.connections * nodes;
  const load = { connections, count: events * nodes, ...types };
  const warmUp = { ...load, count: Math.ceil(load.count / 2) };
  await measureDeliveries(stage, subjectOf(service), { ...warmUp, eventTypes: 1, eventType: 'straight' });
  const memoryBefore = usageOf(service.pid)?.memoryBytes ?? Number.NaN;
  const growMs = performance.now();
  await axis.grow?.(service, { straight, retried }, step);
  const grownSeconds = (performance.now() - growMs) / 1000;
  await measureDeliveries(stage, subjectOf(service), { ...warmUp, eventType: 'retried' });
  await pause(STATISTICS_LATE_MS);
  const once = await costOf(stage, service, { load: { ...load, eventType: 'straight' }, attempts: 1, nodes });
  const twice = await costOf(stage, service, { load: { ...load, eventType: 'retried' }, attempts: 2, nodes });
  const memoryBytes = usageOf(service.pid)?.memoryBytes ?? Number.NaN;
  const { bytes } = await service.query<{ bytes: number }>(
    'select pg_database_size(current_database())::float8 as bytes',
  );
  await service.stop();
  return {
    ...once,
    ...Object.fromEntries(Object.entries(twice).map(([name, value]) => [`retried_${name}`, value])),
    memoryMb: memoryBytes / 2 ** 20,
    memoryGrownMb: (memoryBytes - memoryBefore) / 2 ** 20,
    databaseMb: bytes / 2 ** 20,
    grownSeconds,
  };
}

async function subscribe(service: Service, url: string, eventType: string): Promise<Pair> {
  const endpoint = await service.post('/endpoints', { name: eventType, url });
  const subscription = await service.post('/subscriptions', {
    name: eventType,
    endpoint_id: endpoint.uid,
    filter_config: { event_types: [`${eventType}00000`] },
    retry_config: { type: 'linear', interval_seconds: 0, retry_count: 5 },
  });
  return { endpointId: endpoint.uid, subscriptionId: subscription.uid, eventType };
}

/** Every retried event fails once. That must not open a breaker here. */
async function neverOpenBreakers(service: Service): Promise<void> {
  await service.db.query(
    `update projects set version = version + 1,
       config = jsonb_set(config::jsonb, '{circuit_breaker,minimum_request_count}', '1000000000')`,
  );
  // The poll that notices the change runs each second.
  await pause(1_500);
}

async function refuseSmallDisk(deliveries: number): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  const needed = deliveries * DISK_BYTES_PER_ROW;
  if (bavail * bsize < needed)
    throw new Error(
      `${deliveries} stored deliveries need ${Math.ceil(needed / 2 ** 30)} GB free in ${tmpdir()}`,
    );
}

/** The ratio of the largest step to the smallest. It allows an index one level deeper and a fuller counter table. */
const MOST = 1.25;
const COUNTS = ['buffers', 'walBytes', 'rowVersions'];
/** Batch sizes vary by chance, so round trips have their own bound: the limit of a delivery under load. */
const MOST_ROUND_TRIPS = 0.2;

export function goalsOf(figures: ScalingResults['figures']): Goal[] {
  return Object.entries(figures).flatMap(([axis, steps]) => {
    const samples = Object.values(steps);
    const [first, last] = [samples[0], samples.at(-1)] as [Sample, Sample];
    const names = COUNTS.flatMap((name) => [name, `retried_${name}`]);
    const grown = names.map((name) =>
      goal(`${name} per event over ${axis}`, ratio(last[name], first[name]), MOST),
    );
    const roundTrips = Math.max(...samples.map((sample) => sample['roundTrips'] as number));
    return [...grown, goal(`round trips per event at any step of ${axis}`, roundTrips, MOST_ROUND_TRIPS)];
  });
}

const goal = (name: string, value: number, most: number): Goal => ({
  name,
  value,
  goal: `at most ${most}`,
  met: value <= most,
});

/** Less than a hundredth per event counts as zero. */
function ratio(last = Number.NaN, first = Number.NaN): number {
  return Math.max(last, 0.01) / Math.max(first, 0.01);
}
