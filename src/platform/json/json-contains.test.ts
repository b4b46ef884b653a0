import { expect, test } from 'vitest';
import { jsonContains, payloadTest } from './json-contains.ts';

test.each([
  [{ a: 1, b: 2 }, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: { b: { c: 'x' }, d: 1 } }, { a: { b: { c: 'x' } } }, true],
  [{ a: [1, 2, 3] }, { a: [3, 1] }, true],
  [{ a: [1, 2, 3] }, { a: [4] }, false],
  [{ a: [1, 2] }, { a: 2 }, true],
  [{ a: [{ b: 1, c: 2 }] }, { a: [{ c: 2 }] }, true],
  [{ a: null }, { a: null }, true],
  [{}, { a: null }, false],
  [{ a: '1' }, { a: 1 }, false],
  [[{ a: 1 }], { a: 1 }, false],
  [{ a: 1 }, {}, true],
  ['text', { a: 1 }, false],
])('whether %j contains %j is %s', (value, pattern, expected) => {
  expect(jsonContains(value, pattern)).toBe(expected);
});

test('inherited names are not keys of a payload', () => {
  expect(jsonContains({}, { constructor: {} })).toBe(false);
  expect(jsonContains(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}'))).toBe(true);
});

test('a payload is found whether its text is escaped or not', () => {
  const contains = payloadTest({ name: 'Zoë', tag: 'a"b' });
  expect(contains(Buffer.from('{"name":"Zoë","tag":"a\\"b"}'))).toBe(true);
  expect(contains(Buffer.from('{"n\\u0061me":"Zo\\u00eb","tag":"a\\"b"}'))).toBe(true);
  expect(contains(Buffer.from('{"name":"Zoe","tag":"a\\"b"}'))).toBe(false);
});

test('payloads that are not JSON, contain a NUL or nest too deeply are not found', () => {
  const contains = payloadTest({ a: 1 });
  expect(contains(Buffer.from('not json with "a" in it'))).toBe(false);
  expect(contains(Buffer.from('{"b":"\\u0000","a":1}'))).toBe(true);
  expect(contains(Buffer.from(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`))).toBe(false);
});
