import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { ChaosReport } from '../../test/chaos/chaos-run.ts';
import type { TriedFault } from './faults.ts';
import type { CheckedModel } from './models.ts';

/** docs/durability.md: what was tried, on which machine, and what came of it. */
export type SeededChaos = Omit<ChaosReport, 'logs'> & { seed: number; minutes: number };

export interface Proof {
  models: readonly CheckedModel[];
  chaos: readonly SeededChaos[];
  faults: readonly TriedFault[];
  /** How to repeat it. */
  command: string;
}

const grouped = (n: number): string => n.toLocaleString('en-US');
const rowOf = (...cells: (string | number)[]): string => `|${cells.join('|')}|`;
const table = (head: readonly string[], rows: readonly string[]): string[] => [
  rowOf(...head),
  `|${'---|'.repeat(head.length)}`,
  ...rows,
];

/** Counts of each value, most first: `kill node 4, pause node 3`. */
function counted(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([value, count]) => `${value} ${count}`)
    .join(', ');
}

function machine(): string {
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'),
  ) as { version: string };
  const [cpu] = cpus();
  return `Posthorn ${version}, Node ${process.versions.node}, Linux ${release()}, ${cpus().length} × ${cpu?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${new Date().toISOString().slice(0, 10)}.`;
}

const sumOf = (runs: readonly SeededChaos[], figure: 'accepted' | 'ordered'): number =>
  runs.reduce((sum, run) => sum + run[figure], 0);

function chaosRows(runs: readonly SeededChaos[]): string[] {
  return runs.map((run) => {
    const unexplained = run.duplicates.filter(({ faults }) => faults.length === 0).length;
    return rowOf(
      run.seed,
      run.minutes,
      grouped(run.accepted),
      grouped(run.deliveries),
      run.faults.length,
      run.lost,
      run.duplicates.length,
      unexplained,
      run.problems.length,
      `${(run.drainedInMs / 1000).toFixed(0)} s`,
    );
  });
}

/** Without its examples, which are long. */
const problemsOf = (runs: readonly SeededChaos[]): string[] =>
  runs.flatMap(({ seed, problems }) =>
    problems.flatMap(({ promise, text }) => [
      `- Seed ${seed}, ${promise}: ${text.replace(/, such as \[.*/s, '')}.`,
    ]),
  );

/** How often each kind of fault happened, and the longest pauses in it, over all runs: `kill node 9 (0.2, 0.3)`. */
function pausesOf(runs: readonly SeededChaos[]): string {
  const byKind = Map.groupBy(
    runs.flatMap(({ pauses }) => pauses),
    ({ kind }) => kind,
  );
  const seconds = (values: readonly number[]) => (Math.max(...values) / 1000).toFixed(1);
  return [...byKind]
    .map(([kind, own]) => {
      const times = own.reduce((sum, each) => sum + each.times, 0);
      const accepting = seconds(own.map(({ acceptingMs }) => acceptingMs));
      return `${kind} ${times} (${accepting}, ${seconds(own.map(({ sendingMs }) => sendingMs))})`;
    })
    .join(', ');
}

const causesOf = (runs: readonly SeededChaos[]): string =>
  counted(
    runs.flatMap(({ duplicates }) =>
      // Without the name of the node.
      duplicates.map(({ faults }) => faults[0]?.replace(/ \(.*/, '') ?? 'nothing'),
    ),
  );

/** The most requests in any window, in each run: `limited 10, 10 (10)`. */
function limitsOf(runs: readonly SeededChaos[]): string {
  return (runs[0]?.limits ?? [])
    .map(({ character, limit }, n) => {
      const most = runs.map(({ limits }) => limits[n]?.most ?? '');
      return `${character} ${most.join(', ')} (${limit})`;
    })
    .join('; ');
}

/** A row for each module: its checks together, the depth of the deepest, and how many guards were taken out. */
function modelRows(models: readonly CheckedModel[]): string[] {
  return [...Map.groupBy(models, ({ module }) => module)].map(([module, own]) => {
    const held = own.filter(({ breaks }) => breaks === null);
    const broken = own.filter(({ breaks }) => breaks !== null);
    const asExpected = (checks: readonly CheckedModel[]) => checks.filter((each) => each.isAsExpected).length;
    return rowOf(
      `\`${module}\``,
      held.length,
      grouped(held.reduce((sum, { states }) => sum + states, 0)),
      Math.max(0, ...held.map(({ depth }) => depth)),
      asExpected(held) === held.length ? 'yes' : '**no**',
      broken.length === 0 ? 'not run' : `${asExpected(broken)} of ${broken.length}`,
    );
  });
}

export function showReport({ models, chaos, faults, command }: Proof): string {
  return [
    '# Durability',
    '',
    `\`${command}\` wrote this page. ${machine()}`,
    '',
    '## Under faults',
    '',
    'Three nodes and a database under load, with faults by a seeded schedule.',
    '',
    ...table(
      [
        'seed',
        'minutes',
        'accepted',
        'deliveries',
        'faults',
        'lost',
        'sent twice',
        'unexplained',
        'problems',
        'drained in',
      ],
      chaosRows(chaos),
    ),
    '',
    `Accepted in all: ${grouped(sumOf(chaos, 'accepted'))}, in order: ${grouped(sumOf(chaos, 'ordered'))}. Sent twice because of: ${causesOf(chaos) || 'nothing'}.`,
    '',
    `Faults, with the longest pause of accepting and of sending in seconds: ${pausesOf(chaos)}.`,
    '',
    `Most requests in any window of a limit: ${limitsOf(chaos)}.`,
    '',
    ...problemsOf(chaos),
    '',
    '## Fault by fault',
    '',
    'Nothing accepted is lost. Limits hold where the table says nothing else. `scripts/proof/faults.ts` names the tests.',
    '',
    ...table(
      ['fault', 'what a user sees'],
      faults.map((each) => rowOf(each.fault, each.passed ? each.seen : `**does not hold:** ${each.seen}`)),
    ),
    '',
    '## Models',
    '',
    ...table(
      ['module', 'checks', 'states', 'depth', 'holds', '[guards](../model/README.md)'],
      modelRows(models),
    ),
    '',
  ].join('\n');
}
