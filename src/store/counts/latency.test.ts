import { expect, test } from 'vitest';
import { latencyBucket, percentileMs } from './latency.ts';

test('a percentile lies in the bucket of its value', () => {
  for (const ms of [0, 0.4, 1, 3, 40, 250, 10_000, 86_400_000]) {
    const found = percentileMs(new Map([[latencyBucket(ms), 10]]), 0.5) as number;
    expect(latencyBucket(found)).toBe(latencyBucket(ms));
  }
  expect(latencyBucket(Number.MAX_VALUE)).toBe(55);
  expect(percentileMs(new Map(), 0.5)).toBeNull();
  const mixed = new Map([
    [latencyBucket(10), 98],
    [latencyBucket(1_000), 2],
  ]);
  expect(percentileMs(mixed, 0.5)).toBeLessThan(16);
  expect(percentileMs(mixed, 0.99)).toBeGreaterThan(700);
});
