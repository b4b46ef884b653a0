import { expect, test } from 'vitest';
import { parseTimestamp } from './timestamp.ts';

test.each([
  ['2026-11-15 13:47:12.123456+00', '2026-11-15T13:47:12.123Z'],
  ['2026-11-15 13:47:12+05:30', '2026-11-15T08:17:12.000Z'],
  ['2026-11-15 13:47:12.5-03', '2026-11-15T16:47:12.500Z'],
  ['0050-06-01 00:00:00+00', '0050-06-01T00:00:00.000Z'],
  ['1800-01-01 00:19:32+00:19:32', '1800-01-01T00:00:00.000Z'],
  ['0001-01-01 00:00:00+00', '0001-01-01T00:00:00.000Z'],
])('%s is %s', (text, shown) => {
  expect(new Date(parseTimestamp(text)).toISOString()).toBe(shown);
});

test.each(['infinity', '-infinity', '0001-06-01 00:00:00+00 BC', '10000-01-01 00:00:00+00'])(
  '%s is not a valid time',
  (text) => expect(parseTimestamp(text)).toBeNaN(),
);
