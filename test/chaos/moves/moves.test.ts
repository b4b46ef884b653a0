import { expect, test } from 'vitest';
import { LENIENT } from '../judges/judge-limits.ts';
import { runMoves } from './moves-run.ts';

/** The short form of `npm run chaos -- --moves 20`. */
test('a project moves under load while servers are killed: nothing lost, limits exact, lists in order', async () => {
  const { problems, moves, accepted, lost } = await runMoves({
    nodes: 1,
    seed: 7,
    kills: [
      { step: 'closed', victim: 'source' },
      { step: 'draining', victim: 'home' },
      { step: 'written', victim: 'target' },
    ],
    arrivals: 1,
    strictness: LENIENT,
    say: () => {},
  });
  expect({ problems, lost }).toEqual({ problems: [], lost: 0 });
  expect(moves.map(({ isArrived }) => isArrived)).toEqual([false, true, false]);
  expect(accepted).toBeGreaterThan(50);
});
