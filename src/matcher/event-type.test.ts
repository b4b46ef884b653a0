import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventTypeIndex, matchesEventType } from './event-type.ts';

test.each([
  ['invoice.paid', 'invoice.paid', true],
  ['invoice.paid', 'invoice.paid.late', false],
  ['invoice.paid', 'Invoice.paid', false],
  ['*', 'anything', true],
  ['*', '', true],
  ['invoice.*', 'invoice.paid', true],
  ['invoice.*', 'invoice.paid.late', true],
  ['invoice.*', 'invoice', false],
  ['invoice.*', 'invoices.paid', false],
  ['*.paid', 'invoice.paid', false],
  ['in*.paid', 'invoice.paid', false],
  ['__proto__', '__proto__', true],
  ['', 'x', false],
])('the pattern "%s" and the type "%s": %s', (pattern, eventType, expected) => {
  expect(matchesEventType(pattern, eventType)).toBe(expected);
  expect(new EventTypeIndex([[pattern, 1]]).candidates(eventType)).toEqual(expected ? [1] : []);
});

test('candidates keep the order of the patterns', () => {
  const index = new EventTypeIndex([
    ['a.*', 1],
    ['*', 2],
    ['a.b', 3],
    ['a.b.*', 4],
    ['a.*', 5],
    ['a.b', 6],
  ]);
  expect(index.candidates('a.b')).toEqual([1, 2, 3, 5, 6]);
  expect(index.candidates('a.b.c')).toEqual([1, 2, 4, 5]);
  expect(index.candidates('z')).toEqual([2]);
  expect(new EventTypeIndex([]).candidates('z')).toEqual([]);
});

test('the index finds the same values as a scan over all patterns', () => {
  const name = fc.array(fc.constantFrom('a', 'b', '.', '*', 'constructor', '😀'), { maxLength: 5 });
  const text = name.map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(text), text, (patterns, eventType) => {
      const pairs = patterns.map((pattern, at) => [pattern, at] as const);
      const scanned = pairs.filter(([pattern]) => matchesEventType(pattern, eventType)).map(([, at]) => at);
      expect(new EventTypeIndex(pairs).candidates(eventType)).toEqual(scanned);
    }),
    { numRuns: 2_000 },
  );
});
