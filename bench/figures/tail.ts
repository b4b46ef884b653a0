import { setTimeout as pause } from 'node:timers/promises';
import { type ServerWork, serverWork } from '../cost/server-work.ts';
import type { Figure, Sample } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { SinkReport } from '../sink.ts';
import type { Stage } from '../stage.ts';
import { loadedService, steadyLoad, subjectOf } from '../subjects.ts';

/**
 * A constant load at 70 % of the closed loop's rate: the latency by minute, and what the database server did in
 * each minute, because checkpoints and vacuums make the tail.
 */
export const tail: Figure = {
  name: 'tail',
  rounds: () => 1,
  run: async (stage) => {
    const service = await loadedService(stage);
    const { sliceSeconds, tailSlices } = stage.plan;
    const load = await steadyLoad(stage, subjectOf(service), tailSlices * sliceSeconds);
    const [whole, work] = await Promise.all([
      measureDeliveries(stage, subjectOf(service), load),
      workBySlice(stage, service),
    ]);
    const { slices } = await stage.sink.call<SinkReport>('report');
    const minutes = slices.slice(0, tailSlices).map((slice, n) => ({ ...slice, ...work[n] }));
    for (const [n, minute] of minutes.entries())
      process.stderr.write(`tail ${n + 1} of ${tailSlices}: ${shown(minute)}\n`);
    const worst = minutes.toSorted((a, b) => b.p99Ms - a.p99Ms)[0];
    return {
      ...whole,
      ratePerSecond: load.ratePerSecond,
      minutes: tailSlices,
      ...named('worst', worst ?? {}),
      ...Object.assign({}, ...minutes.map((minute, n) => named(`minute${n + 1}`, minute))),
    };
  },
};

/** The work of the server in each minute. It is read while the load runs. */
async function workBySlice(stage: Stage, service: Service): Promise<ServerWork[]> {
  const { sliceSeconds, tailSlices } = stage.plan;
  const startedMs = performance.now();
  const slices: ServerWork[] = [];
  let before = await serverWork(service);
  for (let n = 1; n <= tailSlices; n++) {
    await pause(startedMs + n * sliceSeconds * 1000 - performance.now());
    const now = await serverWork(service);
    const done = Object.entries(now).map(([name, total]) => [name, total - before[name as keyof ServerWork]]);
    slices.push(Object.fromEntries(done));
    before = now;
  }
  return slices;
}

const named = (prefix: string, sample: object): Sample =>
  Object.fromEntries(Object.entries(sample).map(([name, value]) => [`${prefix}_${name}`, value]));

const shown = (minute: object): string =>
  Object.entries(minute)
    .map(([name, value]) => `${name} ${value.toFixed(1)}`)
    .join(', ');
