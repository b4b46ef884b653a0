import { styleText } from 'node:util';
import { escapeControls, printable } from '../../platform/printable.ts';
import type { Given } from './command.ts';
import { fieldsOf, payloadOf, relativeTime, timeIn } from './readable.ts';
import { terminal } from './terminal.ts';

/*
 * Services and files have text of strangers, which must not control the terminal. `line` and `note` make all of their text
 * printable. Other forms do that by part, or escape it.
 */
type Style = Parameters<typeof styleText>[0];

/** Colours only on a terminal, and not under NO_COLOR. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: terminal().stdout });
}

const STATUS_STYLES: Record<string, Style> = {
  Success: 'green',
  active: 'green',
  ok: 'green',
  recovered: 'green',
  failing: 'red',
  disabled: 'red',
  degraded: 'yellow',
  held: 'yellow',
  Failure: 'red',
  inactive: 'red',
  Discarded: 'gray',
  Retry: 'yellow',
  paused: 'yellow',
  open: 'red',
  'half-open': 'yellow',
  failed: 'red',
  completed: 'green',
};

export function styledStatus(status: string): string {
  const style = STATUS_STYLES[status];
  return style === undefined ? printable(status) : styled(style, status);
}

export function line(text: string): void {
  styledLine(printable(text));
}

/** A line with styles: its other parts are printable or escaped. */
export function styledLine(text: string): void {
  terminal().stdout.write(`${text}\n`);
}

/** For people, next to the result: it does not get into a pipe. */
export function note(text: string): void {
  terminal().stderr.write(`${printable(text)}\n`);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export type Column<T> = readonly [title: string, value: (item: T) => unknown];

/** Prints a list as the user asked. */
export async function printList<T extends object>(
  given: Given,
  items: readonly T[],
  columns: readonly Column<T>[],
): Promise<void> {
  if (given.has('quiet')) return printIds(items, columns[0]?.[1]);
  if (isTable(given)) return items.length === 0 ? note('none found') : printTable(items, columns);
  return printValue(given, items);
}

/** Prints one thing as the user asked. For people: the given text, or its fields, one a line. */
export async function printOne(given: Given, item: object, text?: readonly string[]): Promise<void> {
  if (given.has('quiet')) return printIds([item]);
  if (!isTable(given)) return printValue(given, item);
  if (text !== undefined) return text.forEach(line);
  const fields = fieldsOf(item);
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  for (const [name, value] of fields) styledLine(`${styled('gray', name.padEnd(width))}  ${cellText(value)}`);
  const payload = payloadOf(item);
  if (payload !== undefined && payload !== null) printJson(payload, 2);
}

/** Each id once. Rows without one of their own have it in the first column. */
function printIds<T extends object>(items: readonly T[], first?: (item: T) => unknown): void {
  const ids = items.map((item) => ('uid' in item ? item.uid : first?.(item)));
  for (const id of new Set(ids)) if (typeof id === 'string') line(id);
}

/** Whether the output is for people. */
export function isTable(given: Given): boolean {
  return (given.text('output') ?? 'table') === 'table';
}

async function printValue(given: Given, value: unknown): Promise<void> {
  if (given.text('output') === 'json') return printJson(value, 2);
  const { stringify } = await import('yaml');
  terminal().stdout.write(escapeControls(stringify(value)));
}

export function printJson(value: unknown, indent?: number): void {
  styledLine(escapeControls(JSON.stringify(value, null, indent)));
}

/** Times are relative on a terminal. Programs get them exactly. */
export function shownTime(time: string): string {
  return terminal().stdout.isTTY ? relativeTime(Date.parse(time), Date.now()) : time;
}

function cellText(value: unknown): string {
  if (timeIn(value) !== null) return shownTime(value as string);
  if (typeof value === 'string') return printable(value);
  return value === undefined || value === null ? '' : printable(JSON.stringify(value));
}

export function printTable<T>(items: readonly T[], columns: readonly Column<T>[]): void {
  const rows = items.map((item) => columns.map(([, value]) => cellText(value(item))));
  const widths = columns.map(([title], index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const padded = (row: readonly string[]) =>
    row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)));
  styledLine(styled('bold', padded(columns.map(([title]) => title)).join('  ')));
  for (const row of rows)
    styledLine(
      padded(row)
        .map((cell) => {
          const style = STATUS_STYLES[cell.trim()];
          return style === undefined ? cell : styled(style, cell);
        })
        .join('  '),
    );
}
