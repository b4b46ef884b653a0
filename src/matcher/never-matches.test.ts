import { expect, test } from 'vitest';
import { neverMatches } from './never-matches.ts';

test.each<[unknown, string[]]>([
  [{ a: { $gt: 'abc' } }, ['body.a.$gt: "abc" is not a number, so it never matches']],
  [{ a: { b: { $lte: null } } }, ['body.a.b.$lte: null is not a number, so it never matches']],
  [{ a: { $in: [] } }, ['body.a.$in: the list is empty, so it never matches']],
  [{ $or: [] }, ['body.$or: has no alternatives, so it never matches']],
  [{ $or: [{ a: { $lt: 'x' } }, { a: 1 }] }, ['body.a.$lt: "x" is not a number, so it never matches']],
  [{ a: { $gt: 5, $lt: 3 } }, ['body.a: no number satisfies $gt 5 and $lt 3, so it never matches']],
  [{ a: { $gte: 5, $lt: 5 } }, ['body.a: no number satisfies $gte 5 and $lt 5, so it never matches']],
  [{ a: { $gte: 5, $lte: 5 } }, []],
  [{ a: { $gt: '5', $lt: 7 }, b: { $in: [1] }, c: { $nin: [] }, d: 'abc' }, []],
  [{}, []],
  [undefined, []],
])('%j', (body, warnings) => {
  expect(neverMatches({ body })).toEqual(warnings);
});
