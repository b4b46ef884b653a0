import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { wrongState } from '../../domain/errors.ts';
import { beginChallenge } from './challenge.ts';

type Given = Parameters<typeof beginChallenge>;

test('a project has a few first challenges under way, and one that is not sent is logged', async () => {
  const held: (() => void)[] = [];
  const logged: unknown[] = [];
  // Receivers that do not answer until the test says so.
  const context = {
    db: {},
    cache: { get: () => new Promise((_, reject) => held.push(() => reject(wrongState('done')))) },
    log: { warn: (about: unknown) => logged.push(about) },
  } as unknown as Given[0];
  const begin = (projectId: string, id: string) =>
    beginChallenge(context, {
      row: { delivery: 'push', verification: 'challenge', url: 'https://a.example', verified_url: '' },
      by: { projectId, id },
      config: {},
    } as unknown as Given[1]);
  for (let n = 0; n < 7; n += 1) begin('slow', `slow${n}`);
  expect(held).toHaveLength(5);
  expect(logged).toEqual([
    { project: 'slow', endpoint: 'slow5' },
    { project: 'slow', endpoint: 'slow6' },
  ]);
  begin('other', 'other0');
  expect(held).toHaveLength(6);
  // One that has ended makes room.
  held[0]?.();
  await nextTurn();
  begin('slow', 'slow7');
  begin('slow', 'slow8');
  expect([held.length, logged.length]).toEqual([7, 3]);
  // The node has its own limit.
  for (let n = 0; n < 60; n += 1) begin(`project${n}`, `one${n}`);
  expect([held.length, logged.length]).toEqual([51, 19]);
});
