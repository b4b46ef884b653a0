import { expect, test } from 'vitest';
import { flatten, unflatten } from './flatten.ts';

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ['nested objects become dotted names', { a: { b: { c: 1 } }, d: 2 }, { 'a.b.c': 1, d: 2 }],
  ['dotted names stay', { 'a.b': { c: 1 } }, { 'a.b.c': 1 }],
  ['operators stay under their path', { a: { b: { $gt: 1, $lt: 5 } } }, { 'a.b': { $gt: 1, $lt: 5 } }],
  [
    'operators next to fields stay separate',
    { a: { $exist: true, b: 1 } },
    { a: { $exist: true }, 'a.b': 1 },
  ],
  ['empty objects and nulls are values', { a: { b: {} }, c: null }, { 'a.b': {}, c: null }],
  ['lists of scalars are values', { a: { b: [1, 'x'] }, c: [] }, { 'a.b': [1, 'x'], c: [] }],
  [
    'lists of objects are flattened by index',
    { a: [{ b: 1 }, { c: { d: 2 } }] },
    { 'a.0.b': 1, 'a.1.c.d': 2 },
  ],
  ['mixed lists are values', { a: [null, { b: 1 }] }, { a: [null, { b: 1 }] }],
  [
    'items of groups are flattened',
    { $or: [{ a: { b: 1 } }, { $and: [{ c: { d: 2 } }] }] },
    { $or: [{ 'a.b': 1 }, { $and: [{ 'c.d': 2 }] }] },
  ],
  ['groups under a field too', { x: { $or: [{ a: { b: 1 } }] } }, { x: { $or: [{ 'a.b': 1 }] } }],
  ['operands are left alone', { a: { $eq: { b: { c: 1 } } } }, { a: { $eq: { b: { c: 1 } } } }],
  [
    'wildcards are part of the name',
    { data: { 'list.$': { id: { $in: [1] } } } },
    { 'data.list.$.id': { $in: [1] } },
  ],
  ['an empty filter stays empty', {}, {}],
])('%s', (_, filter, flat) => {
  expect(flatten(filter)).toEqual(flat);
});

test('a field named __proto__ survives both ways', () => {
  const filter: Record<string, unknown> = JSON.parse('{"__proto__":{"a":1},"b":{"__proto__":2}}');
  const flat = flatten(filter);
  expect(Object.keys(flat)).toEqual(['__proto__.a', 'b.__proto__']);
  expect(JSON.stringify(unflatten(flat))).toBe(JSON.stringify(filter));
});

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ['dotted names are nested', { 'a.b': 1, 'a.c': { $gt: 2 } }, { a: { b: 1, c: { $gt: 2 } } }],
  ['a name below a value stays dotted', { a: {}, 'a.b': 1 }, { a: {}, 'a.b': 1 }],
  ['a name with wildcards stays dotted', { 'a.b.$.c': 1 }, { 'a.b.$.c': 1 }],
  ['items of groups are unflattened', { $or: [{ 'a.b': 1 }] }, { $or: [{ a: { b: 1 } }] }],
])('unflattened: %s', (_, flat, nested) => {
  expect(unflatten(flat)).toEqual(nested);
});
