import type { Sample } from '../figure.ts';
import type { ScalingResults } from '../scaling.ts';

/** The report tables as Markdown, to paste into docs/scaling.md. */
const COLUMNS: [title: string, name: string][] = [
  ['round trips', 'roundTrips'],
  ['inserted', 'rowsInserted'],
  ['updated', 'rowsUpdated'],
  ['deleted', 'rowsDeleted'],
  ['HOT', 'hotShare'],
  ['buffers', 'buffers'],
  ['WAL bytes', 'walBytes'],
  ['lock waits', 'lockWaitShare'],
  ['service µs', 'microsService'],
  ['database µs', 'microsDatabase'],
];

export function scalingReport({ machine, figures, goals }: ScalingResults): string {
  const { cores, cpu, memoryGb, node, postgres, system } = machine;
  const missed = goals.filter(({ met }) => !met);
  return [
    `${cores} cores of ${cpu}, ${memoryGb} GB, ${system}, Node ${node}, PostgreSQL ${postgres}.`,
    ...Object.entries(figures).map(([axis, steps]) => axisTable(axis, steps)),
    `${goals.length - missed.length} of ${goals.length} counts per event stay within their bound.`,
    ...missed.map(({ name, value, goal }) => `${name}: ${short(value)} times, ${goal} allowed.`),
  ].join('\n\n');
}

function axisTable(axis: string, steps: Record<string, Sample>): string {
  const head = [axis, 'event', ...COLUMNS.map(([title]) => title), 'memory MB', 'database MB'];
  const rows = Object.entries(steps).flatMap(([step, sample]) =>
    [
      ['sent once', ''],
      ['sent twice', 'retried_'],
    ].map(([event = '', prefix = '']) => [
      Number(step).toLocaleString('en'),
      event,
      ...COLUMNS.map(([, name]) => short(sample[`${prefix}${name}`])),
      short(sample['memoryMb']),
      short(sample['databaseMb']),
    ]),
  );
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const short = (value = Number.NaN): string =>
  value.toLocaleString('en', {
    maximumFractionDigits: Math.abs(value) < 10 ? 3 : Math.abs(value) < 100 ? 1 : 0,
  });
