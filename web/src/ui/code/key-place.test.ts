import { expect, test } from 'vitest';
import { keyPlace } from './key-place.ts';

test.each([
  ['{"', [], 1],
  ['{"body": {"am', ['body'], 10],
  ['{"body": {"customer": {"country": "DE", "', ['body', 'customer'], 40],
  ['{"body": {"a": {"b": 1}, "', ['body'], 25],
  ['{"body": {"$or": [{"n": 1}, {"', ['body', '$or'], 29],
  ['{"body": {"a\\"b": 1, "c', ['body'], 21],
  ['{"body": {', ['body'], 10],
])('%s is at a key', (text, path, from) => {
  expect(keyPlace(text)).toEqual({ path, from });
});

test.each(['', '{"body": "a', '{"body": ', '{"body": {"a"', '{"tags": ["a", "', '{"a": 1}'])(
  '%s is at none',
  (text) => {
    expect(keyPlace(text)).toBe(null);
  },
);
