import { expect, test } from 'vitest';
import { ManualClock, settle } from '../../test/support/samples/manual-clock.ts';
import { Batcher } from './batcher.ts';

interface Item {
  of: string;
  weight: number;
}

/** Adds every item while one batch runs, releases it, and returns the batches that followed. */
async function batchesOf(items: Item[], maxWeight: number): Promise<Item[][]> {
  const batches: Item[][] = [];
  let release: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    release = resolve;
  });
  const batcher = new Batcher<Item, Item>({
    run: async (batch) => {
      batches.push(batch);
      if (batches.length === 1) await first;
      return batch;
    },
    weigh: ({ weight }) => weight,
    sharer: ({ of }) => of,
    maxWeight,
    maxInFlight: 1,
    paceMs: 0,
  });
  const opening = batcher.add({ of: 'opening', weight: 1 });
  while (batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const results = Promise.all(items.map((item) => batcher.add(item)));
  release();
  await opening;
  expect(await results).toEqual(items);
  await batcher.drain();
  return batches.slice(1);
}

const many = (of: string, count: number, weight = 1): Item[] =>
  Array.from({ length: count }, () => ({ of, weight }));
const names = (batch: Item[] = []) =>
  batch
    .map(({ of }) => of)
    .sort()
    .join('');

test('waiting items share batches, in order, cut by weight', async () => {
  const items = many('a', 7).map((item, n) => ({ ...item, n }));
  const batches = await batchesOf(items, 3);
  expect(batches).toEqual([items.slice(0, 3), items.slice(3, 6), items.slice(6)]);
});

test('an item heavier than a batch goes alone', async () => {
  const batches = await batchesOf([...many('a', 1), ...many('a', 1, 50), ...many('a', 1)], 10);
  expect(batches.map((batch) => batch.map(({ weight }) => weight))).toEqual([[1], [50], [1]]);
});

test('a sharer with many items leaves the others their part of the next batch', async () => {
  const batches = await batchesOf([...many('a', 1_000), ...many('b', 3), ...many('c', 2)], 9);
  expect(names(batches[0])).toBe('aaaabbbcc');
  expect(batches).toHaveLength(112);
});

test('with more sharers than fit into a batch each gets a turn before any gets two', async () => {
  const sharers = ['a', 'b', 'c', 'd', 'e'];
  const batches = await batchesOf(
    sharers.flatMap((of) => many(of, 2)),
    2,
  );
  expect(batches.map(names)).toEqual(['ab', 'cd', 'ae', 'bc', 'de']);
});

test('a batch that fails fails its own items and no others', async () => {
  const batcher = new Batcher<number, number>({
    run: async (batch) => {
      if (batch.includes(1)) throw new Error('refused');
      return batch;
    },
    maxWeight: 1,
    maxInFlight: 1,
    paceMs: 0,
  });
  const results = await Promise.allSettled([0, 1, 2].map((n) => batcher.add(n)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('batches begin no closer together than the pace, and the first begins at once', async () => {
  const clock = new ManualClock();
  const startedAt: number[] = [];
  const batcher = new Batcher<number, number>({
    run: async (batch) => {
      startedAt.push(clock.elapsed());
      return batch;
    },
    maxWeight: 10,
    maxInFlight: 2,
    paceMs: 5,
    clock,
  });
  const results = [batcher.add(1)];
  await settle();
  results.push(batcher.add(2));
  await clock.advance(2);
  results.push(batcher.add(3));
  await clock.advance(10);
  results.push(batcher.add(4));
  await settle();
  expect(startedAt).toEqual([0, 5, 12]);
  expect(await Promise.all(results)).toEqual([1, 2, 3, 4]);
});

test('no more batches run at a time than may, and drain waits for all that was handed in', async () => {
  const clock = new ManualClock();
  const ends: (() => void)[] = [];
  const batcher = new Batcher<number, number>({
    run: async (batch) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return batch;
    },
    maxWeight: 1,
    maxInFlight: 2,
    paceMs: 5,
    clock,
  });
  const results = [1, 2, 3].map((n) => batcher.add(n));
  let isDrained = false;
  const drained = batcher.drain().then(() => {
    isDrained = true;
  });
  await clock.advance(20);
  expect(ends).toHaveLength(2);
  for (const end of ends) end();
  await clock.advance(20);
  expect([ends.length, isDrained]).toEqual([3, false]);
  ends[2]?.();
  await drained;
  expect(await Promise.all(results)).toEqual([1, 2, 3]);
});
