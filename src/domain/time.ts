import { AppError } from './errors.ts';

/**
 * The one parser of external times. A time is RFC 3339, of an existing day, in the years 1 to 9999 in UTC.
 * PostgreSQL and our own responses can both show those times. Leap seconds are refused.
 */
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const SHORT = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/;
const FIRST_MS = utcMs({ year: 1, month: 1, day: 1 });
const END_MS = utcMs({ year: 10_000, month: 1, day: 1 });

export const TIME_HINT = 'must be a time such as 2026-01-31T15:04:05Z, of a real day in the years 1 to 9999';

interface Parts {
  year: number;
  month: number;
  day: number;
  hour?: number;
  minute?: number;
  second?: number;
  ms?: number;
}

/** Milliseconds since 1970. Null: not a valid time. */
export function readTime(text: string): number | null {
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as SixNumbers;
  if (!isRealDay(year, month, day) || hour > 23 || minute > 59 || second > 59) return null;
  const offsetHours = Number(match[9] ?? 0);
  const offsetMinutes = Number(match[10] ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return null;
  const offsetMs = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000;
  // Digits past the millisecond are cut, as they are when a stored time is read.
  const ms = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  return withinYears(utcMs({ year, month, day, hour, minute, second, ms }) - offsetMs);
}

/** Reads a date of a list, which may lack the zone (default UTC), the seconds, or the time of day. */
export function readDate(text: string): number | null {
  if (!SHORT.test(text)) return readTime(text);
  const [date = '', time = '00:00'] = text.split(/[Tt ]/);
  return readTime(`${date}T${time.length === 5 ? `${time}:00` : time}Z`);
}

/** RFC 3339 in UTC. Throws if the stored value cannot be shown, such as infinity. */
export function formatTime(ms: number): string {
  if (Number.isNaN(ms)) throw new AppError('row_damaged', { detail: 'a time is not in the years 1 to 9999' });
  return new Date(ms).toISOString();
}

/** Null: outside the allowed years. */
export function withinYears(ms: number): number | null {
  return ms >= FIRST_MS && ms < END_MS ? ms : null;
}

/** Milliseconds since 1970. Unlike Date.UTC, it does not read the years 0 to 99 as 1900 to 1999. */
export function utcMs({ year, month, day, hour = 0, minute = 0, second = 0, ms = 0 }: Parts): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

type SixNumbers = [number, number, number, number, number, number];

function isRealDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  // Day 0 of the next month is the last of this one.
  return day <= new Date(utcMs({ year, month: month + 1, day: 0 })).getUTCDate();
}
