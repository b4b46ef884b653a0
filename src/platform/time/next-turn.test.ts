import { expect, test } from 'vitest';
import { nextTurn } from './next-turn.ts';

test('one slice goes on in each turn of the event loop, the works in turns', async () => {
  const slices: string[] = [];
  let turn = 0;
  let isDone = false;
  const count = () => {
    turn++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await nextTurn();
      slices.push(`${name} ${turn}`);
    }
  };
  await Promise.all([work('a'), work('b'), work('c')]);
  isDone = true;
  expect(slices.map((slice) => slice[0])).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
  expect(new Set(slices.map((slice) => slice.slice(2))).size).toBe(9);
});
