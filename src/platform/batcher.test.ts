import { expect, test } from 'vitest';
import { Batcher } from './batcher.ts';

interface Item {
  of: string;
  weight: number;
}

/** Hands everything in while one batch runs, lets it go, and returns the batches that followed. */
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

test('items that wait together go together, in order, cut by weight', async () => {
  const items = many('a', 7).map((item, n) => ({ ...item, n }));
  const batches = await batchesOf(items, 3);
  expect(batches).toEqual([items.slice(0, 3), items.slice(3, 6), items.slice(6)]);
});

test('an item heavier than a batch goes alone', async () => {
  const batches = await batchesOf([...many('a', 1), ...many('a', 1, 50), ...many('a', 1)], 10);
  expect(batches.map((batch) => batch.map(({ weight }) => weight))).toEqual([[1], [50], [1]]);
});

test('one who hands in much leaves the others their part of the next batch', async () => {
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
