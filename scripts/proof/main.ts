import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runChaos } from '../../test/chaos/chaos-run.ts';
import { FAULT_KINDS } from '../../test/chaos/fault-schedule.ts';
import { STRICT } from '../../test/chaos/judges/judge-limits.ts';
import { readDone } from './done.ts';
import { tryFaults } from './faults.ts';
import { checkModels } from './models.ts';
import { type SeededChaos, showReport } from './report.ts';

/**
 * npm run proof -- --seeds 1,2,3 --minutes N --rate N --nodes N --models NAMES --faults NAMES
 *   --seeds A,B    a run of chaos for each (1,2,3). Empty: none
 *   --minutes N    how long each of them runs (8)
 *   --rate N       events per second (1000). Three runs of 8 minutes accept about a million
 *   --nodes N      how many nodes (3)
 *   --chaos A,B    files of `npm run chaos -- --json FILE` to report instead of new runs
 *   --done A,B     output of this command or of `npm run model`: what it reports does not run again
 *   --models A,B   only checks whose names begin so; `none`: no models
 *   --faults A,B   only faults whose names contain one of these
 *   --out FILE     the page to write (docs/durability.md)
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3' },
    minutes: { type: 'string', default: '8' },
    rate: { type: 'string', default: '1000' },
    nodes: { type: 'string', default: '3' },
    chaos: { type: 'string', default: '' },
    done: { type: 'string', default: '' },
    models: { type: 'string', default: '' },
    faults: { type: 'string', default: '' },
    out: { type: 'string', default: join(import.meta.dirname, '..', '..', 'docs', 'durability.md') },
  },
});
const EARLIER: ReadonlySet<string> = new Set(['--chaos', '--done']);
const say = (line: string) => console.log(line);

async function chaosOf(seed: number): Promise<SeededChaos> {
  const minutes = Number(values.minutes);
  const report = await runChaos({
    seed,
    nodes: Number(values.nodes),
    forMs: minutes * 60_000,
    pauseMs: 8_000,
    calmMs: 40_000,
    rate: Number(values.rate),
    kinds: FAULT_KINDS,
    strictness: STRICT,
    say,
  });
  for (const { promise, text } of report.problems) say(`PROBLEM: ${promise}: ${text}`);
  return { ...report, seed, minutes };
}

/** How to repeat it from nothing: without what was made before. */
function repeatOptions(): string[] {
  const given = process.argv.slice(2);
  const options = given.filter((each, n) => ![each, given[n - 1]].some((name) => EARLIER.has(name ?? '')));
  return options.length === 0 ? [] : ['--', ...options];
}

const listOf = (text: string) => text.split(',').filter((name) => name !== '');
const done = await readDone(listOf(values.done));
const names = listOf(values.models);
const models = values.models === 'none' ? [] : await checkModels(names, say, done.models);
const chaos: SeededChaos[] = [];
const files = listOf(values.chaos);
for (const file of files) chaos.push(JSON.parse(await readFile(file, 'utf8')) as SeededChaos);
if (files.length === 0) for (const seed of listOf(values.seeds).map(Number)) chaos.push(await chaosOf(seed));
const faults = await tryFaults(listOf(values.faults), say, done.faults);
const command = ['npm run proof', ...repeatOptions()].join(' ');
await writeFile(values.out, showReport({ models, chaos, faults, command }));
const isProven =
  models.every(({ isAsExpected }) => isAsExpected) &&
  chaos.every(({ problems }) => problems.length === 0) &&
  faults.every(({ passed }) => passed);
process.exit(isProven ? 0 : 1);
