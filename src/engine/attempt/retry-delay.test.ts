import { describe, expect, test } from 'vitest';
import { parseRetryAfter, retryDelayMs } from './judge-outcome.ts';

const exponential = {
  strategy: 'exponential',
  intervalSeconds: 10,
  maxRetrySeconds: 7200,
  schedule: null,
} as const;
const linear = { ...exponential, strategy: 'linear' } as const;
const after = (failures: number, random = 0, retryAfterSeconds: number | null = null) => ({
  failures,
  random,
  retryAfterSeconds,
});

describe('the wait before the next attempt', () => {
  test('is constant if the strategy is linear', () => {
    for (const failures of [1, 2, 50]) expect(retryDelayMs(linear, after(failures))).toBe(10_000);
  });

  test('is the next step of a list, which the maximum does not bound', () => {
    const listed = { ...exponential, schedule: [5, 0.25, 86_400] };
    const waits = (random: number) =>
      [1, 2, 3].map((failures) => retryDelayMs(listed, after(failures, random)));
    expect(waits(0)).toEqual([5_000, 250, 86_400_000]);
    expect(waits(1)).toEqual([6_000, 300, 103_680_000]);
    expect(retryDelayMs(listed, after(1, 0, 60))).toBe(60_000);
    expect(retryDelayMs(listed, after(1, 0, 86_400))).toBe(7_200_000);
    expect(retryDelayMs(listed, after(3, 0, 60))).toBe(86_400_000);
  });

  test('doubles if it is exponential, up to the maximum, also after very many failures', () => {
    expect([1, 2, 3, 11, 1000].map((failures) => retryDelayMs(exponential, after(failures)))).toEqual([
      10_000, 20_000, 40_000, 7_200_000, 7_200_000,
    ]);
  });

  test('has up to a fifth more by chance, never less', () => {
    expect(retryDelayMs(exponential, after(3, 1))).toBe(48_000);
    expect(retryDelayMs(exponential, after(3, 0.5))).toBe(44_000);
    expect(retryDelayMs(linear, after(3, 1))).toBe(12_000);
    // Not what an endpoint asks for.
    expect(retryDelayMs(linear, after(3, 1, 60))).toBe(60_000);
  });

  test('is lengthened by Retry-After, up to the maximum, and never shortened', () => {
    expect(retryDelayMs(linear, after(1, 0, 60))).toBe(60_000);
    expect(retryDelayMs(linear, after(1, 0, 3))).toBe(10_000);
    expect(retryDelayMs(linear, after(1, 0, 1_000_000))).toBe(7_200_000);
  });
});

test.each([
  ['120', 120],
  [' 5 ', 5],
  ['Thu, 01 Jan 1970 00:02:00 GMT', 110],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['9'.repeat(20), null],
  [undefined, null],
])('Retry-After %j asks for %j seconds', (value, seconds) => {
  expect(parseRetryAfter(value, 10_000)).toBe(seconds);
});
