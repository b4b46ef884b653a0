import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstIdAt, IdFactory, idTime, isId } from './ids.ts';

test('ids strictly increase, also within a millisecond and when the clock steps back', () => {
  const times = [5, 5, 5, 9, 7, 7, 10];
  let call = 0;
  const ids = new IdFactory(() => times[Math.min(call++, times.length - 1)] ?? 0);
  const made = Array.from({ length: 5_000 }, () => ids.next());
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
  expect(made.every(isId)).toBe(true);
});

test('an id contains its time to the millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 47 }), (ms) => {
      const id = new IdFactory(() => ms).next();
      expect(idTime(id)).toBe(ms);
      expect(firstIdAt(ms) <= id && id < firstIdAt(ms + 1)).toBe(true);
    }),
  );
});

test('text that is not an id is recognised', () => {
  for (const text of [
    '',
    'x',
    '01ARZ3NDEKTSV4RRFFQ69G5FA',
    '01ARZ3NDEKTSV4RRFFQ69G5FAVV',
    '81ARZ3NDEKTSV4RRFFQ69G5FAV',
    '01arz3ndektsv4rrffq69g5fav',
    '01ARZ3NDEKTSV4RRFFQ69G5FAI',
  ])
    expect(isId(text), text).toBe(false);
});
