import { expect, test } from 'vitest';
import { fieldsOf, payloadOf, relativeTime, timeIn } from './readable.ts';

test.each([
  [0, 'now'],
  [-1, '1 s ago'],
  [-119, '119 s ago'],
  [-120, '2 min ago'],
  [-7_199, '119 min ago'],
  [-7_200, '2 h ago'],
  [-200_000, '2 d ago'],
  [22, 'in 22 s'],
])('a time %i s away is %s', (seconds, text) => {
  expect(relativeTime(1e12 + seconds * 1000, 1e12)).toBe(text);
});

test('only a whole time of the service is a time', () => {
  expect(timeIn('2026-01-31T15:04:05.000Z')).toBe(Date.UTC(2026, 0, 31, 15, 4, 5));
  for (const value of ['2026-01-31', 'at 2026-01-31T15:04:05Z', 5, null]) expect(timeIn(value)).toBeNull();
});

test('fields are shown one a line, without empty ones, secrets and JSON', () => {
  const item = {
    uid: '1',
    empty: '',
    none: null,
    list: [],
    secrets: [{ value: 'hidden' }],
    deep: { a: { b: 2 }, c: ['x', 'y'] },
    other: { uid: '7', name: 'seven', more: {} },
    unnamed: [{ uid: '8' }, { uid: '9', name: 'nine' }],
    things: [{ a: 1 }, { a: 2 }],
    is_on: false,
    data: { n: 1 },
  };
  expect(fieldsOf(item)).toEqual([
    ['uid', '1'],
    ['deep.a.b', 2],
    ['deep.c', 'x, y'],
    ['other', 'seven (7)'],
    ['unnamed', '8, nine (9)'],
    ['things', '2 of them; --output json shows them'],
    ['is_on', false],
  ]);
  expect(payloadOf(item)).toEqual({ n: 1 });
  expect(payloadOf({ metadata: { data: 5 } })).toBe(5);
  expect(payloadOf({ metadata: null })).toBeUndefined();
});
