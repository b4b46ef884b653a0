import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TURNS_BETWEEN } from '../platform/time/next-turn.ts';
import { EventSchemas } from './event-schemas.ts';

const events = (eventType: string, count: number, payload = '{"a":1}') =>
  Array.from({ length: count }, () => ({
    eventType,
    payload: Buffer.from(payload),
    contentType: null,
    functionFailure: null,
  }));

/** The work of the first doubles with each level of a value. */
const twice = { properties: { n: { $ref: '#' } } };
const deep = `${'{"n":'.repeat(60)}1${'}'.repeat(60)}`;
const schemas = new EventSchemas('refuse', [
  { name: 'doubling', text: JSON.stringify({ anyOf: [{ ...twice, required: ['x'] }, twice] }) },
  { name: 'plain', text: JSON.stringify({ required: ['a'], properties: { a: { type: 'integer' } } }) },
]);

test('the events of a group share the work of their checks, and other work has its turn', async () => {
  let turns = 0;
  const other = { isDone: false };
  const counted = (async () => {
    for (; !other.isDone; turns += 1) await nextTurn();
  })();
  const found = await schemas.problemsOf([...events('doubling', 60, deep), ...events('plain', 1)]);
  other.isDone = true;
  await counted;
  const unfinished = [{ field: 'data', problem: 'needs more work than allowed to be checked' }];
  expect(found.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => unfinished));
  // An ordinary event has its check next to hostile ones.
  expect(found[60]).toEqual([]);
  // The shared work is spent by the first few, in slices of 50,000 steps. Each of the rest has a little.
  expect(turns).toBeGreaterThan(200 * TURNS_BETWEEN);
  expect(turns).toBeLessThan(240 * TURNS_BETWEEN);
});
