import { expect, test } from 'vitest';
import { countTurns } from '../../../test/support/suite/count-turns.ts';
import { nextTurn, TURNS_BETWEEN } from './next-turn.ts';

test('one slice goes on in each fifth turn of the event loop, the works in turns', async () => {
  const slices: string[] = [];
  const most: number[] = [];
  let seen = 0;
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await nextTurn();
      slices.push(name);
    }
  };
  const look = () => {
    most.push(slices.length - seen);
    seen = slices.length;
  };
  const { turns } = await countTurns(() => Promise.all([work('a'), work('b'), work('c')]), look);
  expect(slices).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c']);
  expect(Math.max(...most)).toBe(1);
  expect(turns).toBeGreaterThanOrEqual(TURNS_BETWEEN * slices.length);
});
