import { utcMs, withinYears } from '../../domain/time.ts';

const TIMESTAMP =
  /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/;

/**
 * A timestamptz in the server's format, in milliseconds since 1970. NaN for a value that the API cannot show:
 * infinity, or a year before 1 or after 9999. Date.parse would read the year 50 as 1950, and does not read
 * the offsets with seconds that zones had before 1900.
 */
export function parseTimestamp(text: string): number {
  const match = TIMESTAMP.exec(text);
  if (match === null) return Number.NaN;
  const number = (group: number) => Number(match[group] ?? 0);
  const local = utcMs({
    year: number(1),
    month: number(2),
    day: number(3),
    hour: number(4),
    minute: number(5),
    second: number(6),
    ms: Number((match[7] ?? '').padEnd(3, '0').slice(0, 3)),
  });
  const offsetMs = ((number(9) * 60 + number(10)) * 60 + number(11)) * 1000;
  return withinYears(match[8] === '-' ? local + offsetMs : local - offsetMs) ?? Number.NaN;
}
