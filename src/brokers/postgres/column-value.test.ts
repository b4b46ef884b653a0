import { expect, test } from 'vitest';
import { valueToJson } from './column-value.ts';

test.each([
  ['boolean', 16, 't', true],
  ['integer', 23, '-5', -5],
  ['double precision', 701, '1.5e+300', 1.5e300],
  ['double precision', 701, 'NaN', 'NaN'],
  ['double precision', 701, '-Infinity', '-Infinity'],
  ['bigint', 20, '9007199254740993', '9007199254740993'],
  ['numeric', 1700, '0.10', '0.10'],
  ['text', 25, 'a "b" \n', 'a "b" \n'],
  ['jsonb', 3802, '{"a": [1, null]}', { a: [1, null] }],
  ['timestamptz', 1184, '2026-01-31 12:00:00.123456+00', '2026-01-31T12:00:00.123456Z'],
  ['timestamp', 1114, '2026-01-31 12:00:00', '2026-01-31T12:00:00'],
  ['timestamptz', 1184, 'infinity', 'infinity'],
  ['timestamptz', 1184, '0044-03-15 12:00:00+00 BC', '0044-03-15 12:00:00+00 BC'],
  ['bytea', 17, '\\x00ff', '\\x00ff'],
  ['an enum', 99_999, 'happy', 'happy'],
  ['integer[]', 1007, '{1,NULL,3}', [1, null, 3]],
  [
    'integer[]',
    1007,
    '{{1,2},{3,4}}',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ['integer[]', 1007, '[0:1]={1,2}', [1, 2]],
  ['integer[]', 1007, '{}', []],
  ['text[]', 1009, '{a,"b,\\"c\\" {}","NULL",NULL,""}', ['a', 'b,"c" {}', 'NULL', null, '']],
  ['jsonb[]', 3807, '{"{\\"a\\": 1}"}', [{ a: 1 }]],
])('%s (%i): %s', (_, typeId, value, expected) => {
  expect(JSON.parse(valueToJson(value, typeId))).toEqual(expected);
});

test('json is passed on as it was written, with all the digits of its numbers', () => {
  expect(valueToJson('{"n": 12345678901234567890}', 114)).toBe('{"n": 12345678901234567890}');
});

test.each(['{1,2', '{"a', 'a}', ''])('%j is no array, so it stays a text', (value) => {
  expect(valueToJson(value, 1009)).toBe(JSON.stringify(value));
});
