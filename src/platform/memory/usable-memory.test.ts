import { totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { sizedTo, usableMemory } from './usable-memory.ts';

const MB = 1024 ** 2;

test('a room has its full size from 2 GB on, and a share of it with less memory', () => {
  expect([512, 1_024, 2_048, 65_536].map((memory) => sizedTo(64 * MB, memory * MB) / MB)).toEqual([
    16, 32, 64, 64,
  ]);
});

test('a process may use no more memory than the machine has', () => {
  expect(usableMemory()).toBeGreaterThan(64 * MB);
  expect(usableMemory()).toBeLessThanOrEqual(totalmem());
});
