/**
 * The benchmark: node bench/run.ts [--json FILE] [--full] [--smoke] [--only name,name] [--minutes N] [--profile
 * DIR]. node bench/run.ts scaling [--json FILE] [--full] [--smoke] [--only axis,axis] [--events N] runs
 * bench/scaling.ts. Each figure has a goal (bench/report/goals.ts). See docs/benchmark.md.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type Figure, median, PLANS, type Plan, type Sample, Skipped, TOTALS } from './figure.ts';
import { brokerEndpoints } from './figures/broker-endpoints.ts';
import { delayedBurst } from './figures/delayed-burst.ts';
import { eventsBatch } from './figures/events-batch.ts';
import { failingEndpoints } from './figures/failing-endpoints.ts';
import { firstMinute, partitionChange } from './figures/first-minute.ts';
import { fullTables } from './figures/full-tables.ts';
import { idle } from './figures/idle.ts';
import { ingest } from './figures/ingest.ts';
import { kafka } from './figures/kafka.ts';
import { idleLatency, retryLateness } from './figures/latency.ts';
import { openPortals } from './figures/open-portals.ts';
import { ordered } from './figures/ordered.ts';
import { soak } from './figures/soak.ts';
import { start } from './figures/start.ts';
import { tail } from './figures/tail.ts';
import { diy, endToEnd, relayFloor } from './figures/throughput.ts';
import { toxic } from './figures/toxic.ts';
import { watchers } from './figures/watchers.ts';
import { worstRequest } from './figures/worst-request.ts';
import { goalsOf } from './report/goals.ts';
import { machine } from './report/machine.ts';
import { type Results, report } from './report/report.ts';
import { Stage } from './stage.ts';

const FIGURES: Figure[] = [
  endToEnd,
  ordered,
  watchers,
  relayFloor,
  diy,
  ingest,
  eventsBatch,
  kafka,
  brokerEndpoints,
  tail,
  idle,
  start,
  idleLatency,
  retryLateness,
  toxic,
  worstRequest,
  delayedBurst,
  failingEndpoints,
  openPortals,
  firstMinute,
  partitionChange,
  fullTables,
  soak,
];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'string' },
    only: { type: 'string' },
    events: { type: 'string' },
    minutes: { type: 'string' },
    profile: { type: 'string' },
    full: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
});

function chosenFigures(): Figure[] {
  if (options.only === undefined) return FIGURES.filter((figure) => options.full || figure.isLong !== true);
  const names = options.only.split(',');
  const unknown = names.find((name) => !FIGURES.some((figure) => figure.name === name));
  if (unknown !== undefined)
    throw new Error(`no figure ${unknown}; there are ${FIGURES.map(({ name }) => name).join(', ')}`);
  return FIGURES.filter(({ name }) => names.includes(name));
}

async function runAll(stage: Stage, figures: Figure[]): Promise<Pick<Results, 'figures' | 'skipped'>> {
  const samples = new Map<Figure, Sample[]>(figures.map((figure) => [figure, []]));
  const skipped: Record<string, string> = {};
  const mostRounds = Math.max(...figures.map((figure) => figure.rounds(stage.plan)));
  for (let round = 0; round < mostRounds; round++) {
    for (const figure of figures) {
      if (round >= figure.rounds(stage.plan) || figure.name in skipped) continue;
      process.stderr.write(`round ${round + 1} of ${mostRounds}: ${figure.name}\n`);
      try {
        samples.get(figure)?.push(await figure.run(stage));
      } catch (error) {
        if (!(error instanceof Skipped)) throw error;
        skipped[figure.name] = error.message;
      }
    }
  }
  const results: Record<string, Sample> = {};
  for (const figure of figures) {
    if (figure.name in skipped) continue;
    results[figure.name] = { ...combine(samples.get(figure) ?? []), ...(await figure.conclude?.(stage)) };
  }
  return { figures: results, skipped };
}

function combine(samples: Sample[]): Sample {
  const combined: Sample = {};
  for (const name of Object.keys(samples[0] ?? {})) {
    const values = samples.map((sample) => sample[name] as number);
    combined[name] = TOTALS.has(name) ? values.reduce((sum, value) => sum + value) : median(values);
  }
  return combined;
}

if (positionals[0] === 'scaling') {
  const { runScaling } = await import('./scaling.ts');
  await runScaling(options);
  process.exit(0);
}
const figures = chosenFigures();
const plan: Plan = {
  ...(options.smoke ? PLANS.smoke : options.full ? PLANS.full : PLANS.default),
  ...(options.minutes !== undefined && { tailSlices: Number(options.minutes) }),
  ...(options.profile !== undefined && { profileDir: options.profile }),
};
const stage = await Stage.start(plan);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stage.stop().finally(() => process.exit(1)));
}
try {
  const measured = await runAll(stage, figures);
  const results: Results = {
    machine: machine(stage.postgresVersion),
    ...measured,
    goals: goalsOf(measured.figures),
  };
  console.log(report(results));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  await stage.stop();
}
