import { expect, test } from 'vitest';
import { Prefetch } from './prefetch.ts';

const MIB = 1_048_576;

test('it begins with one message, and grows to 400 small ones', () => {
  const prefetch = new Prefetch();
  const counts = [prefetch.count];
  while (prefetch.note([1_000])) counts.push(prefetch.count);
  expect(counts).toEqual([1, 8, 64, 400]);
});

test('large messages: together 2 MiB at most, or one', () => {
  const prefetch = new Prefetch();
  while (prefetch.note([1_000]));
  expect(prefetch.note([1_000, 100_000])).toBe(true);
  expect(prefetch.count).toBe(20);
  expect(prefetch.note([50 * MIB])).toBe(true);
  expect(prefetch.count).toBe(1);
});

test('a large message is forgotten when small ones follow, and small differences change nothing', () => {
  const prefetch = new Prefetch();
  prefetch.note([MIB]);
  expect(prefetch.count).toBe(2);
  for (const _ of Array.from({ length: 20 })) prefetch.note([1_000]);
  expect(prefetch.count).toBeGreaterThan(200);
  expect(prefetch.note([7_000])).toBe(false);
});
