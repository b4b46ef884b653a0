import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EventSchemas } from './event-schemas.ts';

const events = (eventType: string, count: number) =>
  Array.from({ length: count }, () => ({
    eventType,
    payload: Buffer.from('{"a":1}'),
    contentType: null,
    functionFailure: null,
  }));

/** A check of the first never ends. */
const schemas = new EventSchemas('refuse', [
  { name: 'endless', text: JSON.stringify({ anyOf: [{ $ref: '#' }, { $ref: '#' }] }) },
  { name: 'plain', text: JSON.stringify({ required: ['a'], properties: { a: { type: 'integer' } } }) },
]);

test('the events of a group share the work of their checks, and other work has its turn', async () => {
  let turns = 0;
  const state = { isDone: false };
  const other = (async () => {
    for (; !state.isDone; turns += 1) await nextTurn();
  })();
  const found = await schemas.problemsOf([...events('endless', 100), ...events('plain', 1)]);
  state.isDone = true;
  await other;
  const unfinished = [{ field: 'data', problem: 'needs more work than allowed to be checked' }];
  expect(found.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => unfinished));
  // An ordinary event has its check next to hostile ones.
  expect(found[100]).toEqual([]);
  // The shared work is spent by the first few. Each of the rest has a little, so that few pauses are needed for them.
  expect(turns).toBeGreaterThan(2);
  expect(turns).toBeLessThan(50);
});
