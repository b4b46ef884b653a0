/**
 * Cron expressions of five fields: minute, hour, day of the month, month, day of the week. A field is `*`, a number, a
 * range (`1-5`), either with a step (`*\/15`), or a list of these. Months and weekdays have English names too. As in
 * every cron, a day matches if either day field does, once both are restricted.
 */
export interface CronTimes {
  minutes: readonly number[];
  hours: readonly number[];
  /** The hour field begins with `*`: it means hours that pass, and not times of the day. */
  isHourly: boolean;
  isDay(day: { month: number; date: number; weekday: number }): boolean;
}

interface FieldRule {
  name: string;
  from: number;
  to: number;
  names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const RULES: readonly FieldRule[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: MONTHS },
  { name: 'day of the week', from: 0, to: 7, names: WEEKDAYS },
];
const SHORT: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};
const MAX_CHARS = 256;

/** A text says what is wrong. */
export function parseCron(text: string): CronTimes | string {
  if (text.length > MAX_CHARS) return `it is longer than ${MAX_CHARS} characters`;
  const trimmed = text.trim().toLowerCase();
  const fields = (SHORT[trimmed] ?? trimmed).split(/\s+/);
  if (fields.length !== RULES.length)
    return 'it must have five fields: minute, hour, day of the month, month, day of the week';
  const read = RULES.map((rule, index) => parseField(fields[index] ?? '', rule));
  const problem = read.find((one) => typeof one === 'string');
  if (problem !== undefined) return problem as string;
  const [minutes, hours, dates, months, weekdays] = read as Set<number>[] as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  if (weekdays.has(7)) weekdays.add(0);
  const isEither = !fields[2]?.startsWith('*') && !fields[4]?.startsWith('*');
  return {
    minutes: sorted(minutes),
    hours: sorted(hours),
    isHourly: fields[1]?.startsWith('*') === true,
    isDay: ({ month, date, weekday }) =>
      months.has(month) &&
      (isEither ? dates.has(date) || weekdays.has(weekday) : dates.has(date) && weekdays.has(weekday)),
  };
}

const sorted = (values: ReadonlySet<number>): number[] => [...values].sort((a, b) => a - b);

function parseField(text: string, rule: FieldRule): Set<number> | string {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const range = parsePart(part, rule);
    if (range === null) return `the ${rule.name} cannot be read: ${part.slice(0, 40)}`;
    for (let value = range.from; value <= range.to; value += range.step) values.add(value);
  }
  return values;
}

function parsePart(part: string, rule: FieldRule): { from: number; to: number; step: number } | null {
  const match = /^(?:(\*)|([a-z]+|\d{1,2})(?:-([a-z]+|\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
  if (match === null) return null;
  const [, all, first, last, given] = match;
  const step = given === undefined ? 1 : Number(given);
  if (step < 1) return null;
  if (all !== undefined) return { from: rule.from, to: rule.to, step };
  const from = valueOf(first ?? '', rule);
  // `5/15` goes on to the end, as `5-59/15` does.
  const to = last === undefined ? (given === undefined ? from : rule.to) : valueOf(last, rule);
  return from === null || to === null || from > to ? null : { from, to, step };
}

function valueOf(text: string, { from, to, names = [] }: FieldRule): number | null {
  const index = names.indexOf(text);
  const value = index === -1 ? Number(text) : index + from;
  return Number.isInteger(value) && value >= from && value <= to ? value : null;
}
