import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { collectGarbage, IdleCollector } from './idle-collector.ts';

/** How many collections there were after each interval. */
function collections(shares: readonly number[]): number[] {
  let count = 0;
  let share = 0;
  const collector = new IdleCollector({ busyShare: () => share, collect: () => count++ });
  return shares.map((each) => {
    share = each;
    collector.look();
    return count;
  });
}

test('a busy time is followed by one collection, when it is over', () => {
  expect(collections([0.3, 0.01, 0.9, 0.8, 0.02, 0.01, 0.01])).toEqual([0, 1, 1, 1, 2, 2, 2]);
});

test('nothing is collected while the node works, or after a time that was not busy', () => {
  expect(collections([0.9, 0.1, 0.9, 0.1])).toEqual([0, 0, 0, 0]);
  expect(collections([0.01, 0.1, 0.01, 0.2, 0.01])).toEqual([1, 1, 1, 1, 1]);
});

test('a short start is followed by a collection', () => {
  expect(collections([0.15, 0.01, 0.01])).toEqual([0, 1, 1]);
});

test('each busy time has its collection', () => {
  expect(collections([0.9, 0.01, 0.9, 0.01])).toEqual([0, 1, 1, 2]);
});

test('a collection frees buffers that nothing refers to', async () => {
  const before = process.memoryUsage().arrayBuffers;
  (() => Array.from({ length: 50 }, () => Buffer.alloc(1_000_000, 1)))();
  // In a later turn nothing on the stack refers to them. Another thread frees them.
  await nextTurn();
  collectGarbage();
  await eventually(
    async () => process.memoryUsage().arrayBuffers - before,
    (bytes) => bytes < 25_000_000,
  );
});

test('a collection gives back the space for new objects that a busy time needed', () => {
  const newSpace = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
  const kept: object[][] = [];
  // All that survives makes the space grow.
  for (let round = 0; round < 40; round += 1) {
    kept.push(Array.from({ length: 50_000 }, (_, n) => ({ n })));
    if (kept.length > 4) kept.shift();
  }
  const before = newSpace();
  kept.length = 0;
  collectGarbage();
  expect([before > 4 * 1024 * 1024, newSpace() < before / 2]).toEqual([true, true]);
});
