import type { Sample } from '../figure.ts';
import type { Figures, Goal } from './goals.ts';
import type { Machine } from './machine.ts';

/** The report tables as Markdown, to paste into docs/benchmark.md. */
export interface Results {
  machine: Machine;
  figures: Figures;
  skipped: Record<string, string>;
  goals: Goal[];
}

export function report({ machine, figures, skipped, goals }: Results): string {
  const { cores, cpu, memoryGb, node, postgres, system } = machine;
  return [
    `${cores} cores of ${cpu}, ${memoryGb} GB, ${system}, Node ${node}, PostgreSQL ${postgres} (fsync and synchronous_commit on).`,
    table(['figure', ...COLUMNS.map(([title]) => title)], Object.entries(figures).map(figureRow)),
    ...Object.entries(skipped).map(([name, reason]) => `Not measured: ${name}: ${reason}.`),
    table(['cores, CPU per event, memory', ...PROCESSES], Object.entries(figures).flatMap(costRow)),
    table(
      ['goal', 'asked', 'measured', 'met'],
      goals.map(({ name, goal, value, met }) => [name, goal, short(value), met ? 'yes' : 'NO']),
    ),
  ].join('\n\n');
}

const short = (value: number): string =>
  value.toLocaleString('en', {
    maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0,
  });

const COLUMNS: [title: string, names: string[]][] = [
  ['events/s', ['eventsPerSecond', 'ratePerSecond', 'httpPerSecond']],
  ['without', ['without', 'perSecondWithout', 'alone', 'steady', 'empty']],
  ['p50 ms', ['p50Ms']],
  ['p99 ms', ['p99Ms']],
  ['p99 without', ['p99WithoutMs']],
  ['lost', ['lost']],
  ['doubled', ['duplicates']],
];

/** `without`: the same in the same round without what the figure is about. */
function figureRow([name, sample]: [string, Sample]): string[] {
  const cell = (names: string[]) => {
    const known = names.find((one) => sample[one] !== undefined);
    return known === undefined ? '' : short(sample[known] as number);
  };
  return [name, ...COLUMNS.map(([, names]) => cell(names))];
}

const PROCESSES = ['Service', 'Database', 'Load', 'Sink'];

function costRow([name, sample]: [string, Sample]): string[][] {
  if (sample['coresLoad'] === undefined) return [];
  const n = (key: string) => short(sample[key] as number);
  const cell = (process: string) =>
    `${n(`cores${process}`)}, ${n(`micros${process}`)} µs, ${n(`memory${process}Mb`)} MB`;
  return [[name, ...PROCESSES.map(cell)]];
}

function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] as string).length)),
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] as number)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
