import { describe, expect, test } from 'vitest';
import { compileFilter, type FilterScopes, validateFilter } from './filter.ts';
import { type FilterInput, FilterSubject } from './filter-subject.ts';

const nothing: FilterInput = { body: undefined, headers: {}, query: '', path: '/' };

function compiled(scopes: FilterScopes) {
  const result = compileFilter(scopes);
  if (!result.ok) throw new Error(`${result.path}: ${result.message}`);
  return result.filter;
}

function matches(scopes: FilterScopes, input: Partial<FilterInput>): boolean {
  return compiled(scopes).matches(new FilterSubject({ ...nothing, ...input }));
}

const matchesBody = (body: unknown, filter: unknown): boolean => matches({ body: filter }, { body });

function mistake(scopes: FilterScopes): { path: string; message: string } {
  const result = validateFilter(scopes);
  if (result.ok) throw new Error('the filter was accepted');
  return { path: result.path, message: result.message };
}

const age = (value: unknown) => ({ person: { age: value } });
const names = { person: { name: ['ada', 'linus'] } };
const weekly = { cities: ['rome', 'paris', 'lyon'], type: 'weekly', person: { age: 12 } };
const talks = {
  data: [{ event: 'meetup' }, { venue: 'test' }, { speakers: [{ name: 'grace' }, { name: 'ada' }] }],
  swag: 'shirts',
};
const venues = [{ venues: [{ rome: ['oslo', 'bergen'] }, { paris: ['malmo', 'lund'] }] }];

const examples: [name: string, payload: unknown, filter: unknown, expected: boolean][] = [
  ['a pattern finds letters', { event: 'qwerty' }, { event: { $regex: '^[a-zA-Z]+$' } }, true],
  ['a pattern finds a prefix', { event: 'cs_qwerty' }, { event: { $regex: '^cs_[a-zA-Z]+$' } }, true],
  ['a pattern is not anchored', { event: 'xx cs_1' }, { event: { $regex: 'cs_\\d' } }, true],
  ['a pattern that is not there', { event: 'qwerty' }, { event: { $regex: '^\\d+$' } }, false],
  ['a nested plain value', age(5), age(5), true],
  ['a dotted plain value', age(5), { 'person.age': 5 }, true],
  ['$eq', age(5), age({ $eq: 5 }), true],
  ['$neq of the same', age(5), age({ $neq: 5 }), false],
  ['$neq of another', age(11), age({ $neq: 5 }), true],
  ['$lt above', age(11), age({ $lt: 15 }), true],
  ['$gt below', age(11), age({ $gt: 5 }), true],
  ['$lt below', age(11), age({ $lt: 5 }), false],
  ['$gt above', age(11), age({ $gt: 50 }), false],
  ['$gt of the same', age(5), age({ $gt: 5 }), false],
  ['$gte of the same', age(5), age({ $gte: 5 }), true],
  ['$lt of the same', age(5), age({ $lt: 5 }), false],
  ['$lte of the same', age(5), age({ $lte: 5 }), true],
  ['a range', age(7), age({ $gt: 5, $lt: 10 }), true],
  ['outside a range', age(12), age({ $gt: 5, $lt: 10 }), false],
  [
    '$in without the value',
    { person: { name: 'grace' } },
    { person: { name: { $in: ['ada', 'linus'] } } },
    false,
  ],
  [
    '$nin without the value',
    { person: { name: 'grace' } },
    { person: { name: { $nin: ['ada', 'linus'] } } },
    true,
  ],
  [
    '$in with the value',
    { person: { name: 'linus' } },
    { person: { name: { $in: ['ada', 'linus'] } } },
    true,
  ],
  ['a plain value in an array', names, { person: { name: 'ada' } }, true],
  ['a plain value not in an array', names, { person: { name: 'grace' } }, false],
  ['$and', weekly, { $and: [{ 'person.age': { $gte: 10 } }, { type: 'weekly' }, { cities: 'rome' }] }, true],
  ['$and with one false', weekly, { $and: [{ 'person.age': { $gte: 10 } }, { type: 'monthly' }] }, false],
  ['$or', weekly, { $or: [{ type: 'monthly' }, { cities: 'rome' }] }, true],
  ['$or with none true', weekly, { $or: [{ type: 'monthly' }, { cities: 'turin' }] }, false],
  [
    '$or in $and',
    weekly,
    { $and: [{ person: { age: { $gte: 10 } } }, { $or: [{ type: 'weekly' }, { cities: 'x' }] }] },
    true,
  ],
  ['$or next to a field', weekly, { type: 'monthly', $or: [{ cities: 'rome' }] }, false],
  ['$or under a field', weekly, { person: { $or: [{ age: 1 }, { age: { $gt: 10 } }] } }, true],
  ['$or of operators under a field', weekly, { 'person.age': { $or: [{ $lt: 1 }, { $gt: 10 }] } }, true],
  ['$exist', weekly, age({ $exist: true }), true],
  ['$exist of an object', weekly, { person: { $exist: true } }, true],
  ['a wildcard onto an array', { data: [{ values: [true] }] }, { 'data.$.values': true }, true],
  ['wildcards met by different elements', talks, { 'data.$.event': 'meetup', 'data.$.venue': 'test' }, true],
  ['two wildcards', talks, { 'data.$.speakers.$.name': 'grace', swag: 'shirts' }, true],
  ['two wildcards and a false field', talks, { 'data.$.speakers.$.name': 'grace', swag: 'mugs' }, false],
  ['a root array', venues, { '$.venues.$.rome': 'oslo' }, true],
  ['a root array without the value', venues, { '$.venues.$.rome': 'narvik' }, false],
  [
    '$or over wildcards',
    venues,
    { $or: [{ '$.venues.$.rome': 'narvik' }, { '$.venues.$.paris': 'lund' }] },
    true,
  ],
  [
    '$or over wildcards, none',
    venues,
    { $or: [{ '$.venues.$.rome': 'narvik' }, { '$.venues.$.paris': 'x' }] },
    false,
  ],
  ['three wildcards', { a: [{ b: [{ c: [{ d: 1 }] }] }] }, { 'a.$.b.$.c.$.d': 1 }, true],
  ['an empty name behind a wildcard', ['kiel'], { '$.': 'kiel' }, false],
  ['a field of an empty object', {}, { key: 'value' }, false],
  ['a field of an empty array', [], { key: 'value' }, false],
  ['an empty filter on an empty object', {}, {}, true],
  ['$in of one value on an array', { ids: ['a', 1] }, { ids: { $in: 'a' } }, true],
  ['$in of another value on an array', { ids: ['a', 1] }, { ids: { $in: 'b' } }, false],
  [
    'a wildcard ending a parent key',
    { data: { profiles: [{ id: 3 }, { id: 1 }] } },
    { data: { 'profiles.$': { id: { $in: [1] } } } },
    true,
  ],
  [
    'a wildcard ending a parent key, none',
    { data: { profiles: [{ id: 3 }] } },
    { data: { 'profiles.$': { id: { $in: [1] } } } },
    false,
  ],
];

describe('body filters', () => {
  test.each(examples)('%s', (_, payload, filter, expected) => {
    expect(matchesBody(payload, filter)).toBe(expected);
  });

  test.each([
    ['a matching field next to an absent one', { a: 1 }, { a: 1, b: 2 }, false],
    ['$exist false', {}, { x: { $exist: false } }, true],
    ['$exist false, present', { x: 1 }, { x: { $exist: false } }, false],
    ['$exist true, null', { x: null }, { x: { $exist: true } }, true],
    ['$exist true, absent', {}, { x: { $exist: true } }, false],
    ['$neq', {}, { x: { $neq: 1 } }, true],
    ['$nin', {}, { x: { $nin: [1] } }, true],
    ['$neq together with $gt', {}, { x: { $neq: 1, $gt: 0 } }, false],
    ['$in', {}, { x: { $in: [1] } }, false],
    ['$lt', {}, { x: { $lt: 1 } }, false],
    ['$regex', {}, { x: { $regex: '' } }, false],
    ['null for a plain value', { x: null }, { x: 1 }, false],
    ['null for null', { x: null }, { x: null }, true],
    ['absent for null', {}, { x: null }, false],
    ['$exist false behind a wildcard', { d: [{ y: 1 }, {}] }, { 'd.$.x': { $exist: false } }, true],
    [
      '$exist false behind a wildcard, one has it',
      { d: [{ x: 1 }, {}] },
      { 'd.$.x': { $exist: false } },
      false,
    ],
    ['$neq behind a wildcard, nothing there', { d: [] }, { 'd.$.x': { $neq: 1 } }, true],
  ])('absence: %s', (_, payload, filter, expected) => {
    expect(matchesBody(payload, filter)).toBe(expected);
  });

  test.each([
    ['"5" equals 5', '5', 5, true],
    ['5 equals "5"', 5, '5', true],
    ['"1.0" equals "1"', '1.0', '1', true],
    ['"1e3" equals 1000', '1e3', 1000, true],
    ['"inf" equals "Infinity"', 'inf', 'Infinity', true],
    ['"nan" equals itself', 'nan', 'nan', true],
    ['"" is not 0', '', 0, false],
    ['" 5" is not 5', ' 5', 5, false],
    ['"0x10" is not 16', '0x10', 16, false],
    ['true is not 1', true, 1, false],
    ['null is not 0', null, 0, false],
    ['ids beyond 2^53 differ', '9007199254740993', '9007199254740992', false],
    ['long texts of one number are equal', '0009007199254740993.0', '9007199254740993', true],
    ['long texts with exponents are equal', '90071992547409930e-1', '9007199254740993', true],
    ['objects in any key order', { a: 1, b: [2] }, { $eq: { b: [2], a: 1 } }, true],
    ['objects strictly inside', { a: '1' }, { $eq: { a: 1 } }, false],
    ['an object with more keys', { a: 1, b: 2 }, { $eq: { a: 1 } }, false],
    ['the whole array', [1, 2], [1, 2], true],
    ['another array', [1, 2], [2, 1], false],
    ['an array in an array', [[1], 2], [1], true],
    ['an array of numeric texts', ['1', '2'], 2, true],
    ['$eq does not look into arrays', ['a'], { $eq: 'a' }, false],
    ['$neq of an array', ['a'], { $neq: 'a' }, true],
    ['$gt takes numeric texts', '10', { $gt: '9' }, true],
    ['$in is strict', 1, { $in: ['1'] }, false],
    ['$in with a shared item', ['a', 'b'], { $in: ['b', 'c'] }, true],
    ['$nin with a shared item', ['a', 'b'], { $nin: ['b', 'c'] }, false],
    ['$in of objects', { a: 1 }, { $in: [{ a: 1 }] }, true],
    ['$in of null', null, { $in: [null] }, true],
    ['an empty object', {}, {}, true],
    ['an object that is not empty', { a: 1 }, {}, false],
  ])('equality: %s', (_, value, filter, expected) => {
    expect(matchesBody({ x: value }, { x: filter })).toBe(expected);
  });

  test.each([
    ['$gt', { $gt: 1 }],
    ['$gte', { $gte: 1 }],
    ['$lt', { $lt: 1 }],
    ['$lte', { $lte: 1 }],
    ['$lt with a text limit', { $lt: 'z' }],
    ['$regex', { $regex: '' }],
    ['$in with a single value', { $in: 'abc' }],
    ['$nin with a single value', { $nin: 'abc' }],
  ])('a clash of types does not match: %s', (name, filter) => {
    for (const value of [true, null, { a: 1 }, name === '$regex' ? 5 : 'abc']) {
      expect(matchesBody({ x: value }, { x: filter })).toBe(false);
    }
  });

  test('one element must pass all the operators of a wildcard condition', () => {
    const filter = { 'd.$.n': { $gt: 5, $lt: 10 } };
    expect(matchesBody({ d: [{ n: 1 }, { n: 20 }] }, filter)).toBe(false);
    expect(matchesBody({ d: [{ n: 1 }, { n: 7 }] }, filter)).toBe(true);
  });

  test('a wildcard stands for array elements only', () => {
    expect(matchesBody({ d: { 0: { x: 1 } } }, { 'd.$.x': 1 })).toBe(false);
    expect(matchesBody({ d: [[{ x: 1 }]] }, { 'd.$.x': 1 })).toBe(false);
    expect(matchesBody({ d: [[{ x: 1 }]] }, { 'd.$.$.x': 1 })).toBe(true);
  });

  test('the filter addresses array elements by index or by a list of objects', () => {
    const body = { d: [{ x: 1 }, { x: 2 }] };
    expect(matchesBody(body, { 'd.1.x': 2 })).toBe(true);
    expect(matchesBody(body, { 'd.01.x': 2 })).toBe(false);
    expect(matchesBody(body, { 'd.2.x': { $exist: false }, 'd.2': { $exist: false } })).toBe(true);
    expect(matchesBody({ d: [[1]] }, { 'd.$.1': { $exist: true } })).toBe(false);
    expect(matchesBody(body, { 'd.length': 2 })).toBe(false);
    expect(matchesBody(body, { d: [{ x: { $lt: 2 } }, { x: 2 }] })).toBe(true);
    expect(matchesBody(body, { d: [{ x: 2 }] })).toBe(false);
    expect(matchesBody([{ event: 'a' }], { '0.event': 'a' })).toBe(true);
    expect(matchesBody(['a', 'b'], { '': 'b' })).toBe(true);
  });

  test('payload keys with dots are found like nested keys, after them', () => {
    expect(matchesBody({ 'a.b': { c: 1 } }, { a: { b: { c: 1 } } })).toBe(true);
    expect(matchesBody({ a: { x: 1 }, 'a.b.c': 1 }, { 'a.b.c': 1 })).toBe(true);
    expect(matchesBody({ 'a.b': 1, a: { b: 2 } }, { 'a.b': 1 })).toBe(false);
    expect(matchesBody({ 'd.e': [{ 'x.y': 1 }] }, { 'd.e.$.x.y': 1 })).toBe(true);
  });

  test('payload keys named like operators or prototype members are ordinary', () => {
    const hostile: unknown = JSON.parse('{"$or":1,"$ref":{"$gt":2},"__proto__":{"x":1},"a":{"$in":3}}');
    expect(matchesBody(hostile, { a: { $exist: true } })).toBe(true);
    expect(matchesBody(hostile, { a: { $eq: { $in: 3 } } })).toBe(true);
    expect(matchesBody(hostile, JSON.parse('{"__proto__":{"x":1}}'))).toBe(true);
    for (const key of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'constructor.name']) {
      expect(matchesBody({}, Object.fromEntries([[key, { $exist: true }]]))).toBe(false);
    }
    expect(matchesBody({ constructor: 1 }, { constructor: 1 })).toBe(true);
    expect(matchesBody({ a: {} }, { a: { $eq: JSON.parse('{"__proto__":{}}') } })).toBe(false);
  });

  test('a payload that is not JSON matches no body filter, not even a negative one', () => {
    expect(matches({ body: { x: { $exist: false } } }, { body: undefined })).toBe(false);
    expect(matches({ body: {} }, { body: undefined })).toBe(true);
    expect(matchesBody(null, { x: 1 })).toBe(false);
    expect(matchesBody('text', { length: 4 })).toBe(false);
  });
});

describe('the other scopes', () => {
  test('header names match in any case and the first value counts', () => {
    const headers = { 'X-Kind': ['gold', 'silver'], 'x-age': '30' };
    expect(matches({ headers: { 'x-kind': 'gold' } }, { headers })).toBe(true);
    expect(matches({ headers: { 'X-KIND': 'silver' } }, { headers })).toBe(false);
    expect(matches({ headers: { 'X-Age': { $gt: 18 } } }, { headers })).toBe(true);
    expect(matches({ headers: { 'x-a': '1' } }, { headers: { 'X-A': '1', 'x-a': '2' } })).toBe(true);
    expect(matches({ headers: { 'X-None': { $exist: false } } }, { headers })).toBe(true);
    expect(matches({ headers: { 'x-kind': 'gold' } }, { headers: { 'X-Kind': [] } })).toBe(false);
    expect(matches({ headers: { __proto__: null, constructor: { $exist: true } } }, { headers })).toBe(false);
  });

  test('a repeated query parameter is a list, a single one a string', () => {
    const query = '?tag=a&tag=b&tag=c&page=2&q=caf%C3%A9+x&__proto__=p';
    expect(matches({ query: { tag: 'b' } }, { query })).toBe(true);
    expect(matches({ query: { tag: { $in: ['c'] } } }, { query })).toBe(true);
    expect(matches({ query: { tag: 'd' } }, { query })).toBe(false);
    expect(matches({ query: { page: { $gte: 2 } } }, { query: query.slice(1) })).toBe(true);
    expect(matches({ query: { q: 'café x' } }, { query })).toBe(true);
    expect(matches({ query: JSON.parse('{"__proto__":"p"}') }, { query })).toBe(true);
    expect(matches({ query: { page: 2 } }, { query: '' })).toBe(false);
  });

  test('the path is a field named path', () => {
    expect(matches({ path: { path: '/hooks/a' } }, { path: '/hooks/a' })).toBe(true);
    expect(matches({ path: { path: { $regex: '^/hooks/' } } }, { path: '/other' })).toBe(false);
  });

  test('all scopes must hold and empty ones always do', () => {
    const scopes = { body: { a: 1 }, headers: { h: '1' }, query: {}, path: null };
    expect(matches(scopes, { body: { a: 1 }, headers: { H: '1' } })).toBe(true);
    expect(matches(scopes, { body: { a: 1 }, headers: {} })).toBe(false);
    expect(matches({}, {})).toBe(true);
  });

  test('a filter reports whether it needs the body', () => {
    expect(compiled({ body: { a: 1 } }).usesBody).toBe(true);
    expect(compiled({ body: {}, headers: { a: 1 } }).usesBody).toBe(false);
  });
});

describe('refused filters', () => {
  test.each<[FilterScopes, string]>([
    [{ body: { person: { age: { $foo: 1 } } } }, 'body.person.age.$foo'],
    [{ body: { $foo: 1 } }, 'body.$foo'],
    [{ body: { $eq: 1 } }, 'body.$eq'],
    [{ body: { constructor: { $constructor: 1 } } }, 'body.constructor.$constructor'],
    [{ body: { 'person.age.$gt': 1 } }, 'body.person.age.$gt'],
    [{ body: { $or: { a: 1 } } }, 'body.$or'],
    [{ body: { $or: [{ a: 1 }, 5] } }, 'body.$or.1'],
    [{ body: { $and: [{ $or: [{ a: { $bad: 1 } }] }] } }, 'body.$and.0.$or.0.a.$bad'],
    [{ body: { list: [{ a: { $bad: 1 } }] } }, 'body.list.0.a.$bad'],
    [{ body: { 'data.$.venue.$': 'test' } }, 'body.data.$.venue.$'],
    [{ body: { '.$': 1 } }, 'body..$'],
    [{ body: { '$.$': 1 } }, 'body.$.$'],
    [{ body: { 'data.$': { $exist: true } } }, 'body.data.$'],
    [{ body: { 'a.$.b.$.c.$.d.$.e': 'test' } }, 'body.a.$.b.$.c.$.d.$.e'],
    [{ headers: { 'a.$.b': 1 } }, 'headers.a.$.b'],
    [{ query: { $: { b: 1 } } }, 'query.$'],
    [{ path: { 'a.$.b': 1 } }, 'path.a.$.b'],
    [{ body: { a: { $exist: 'yes' } } }, 'body.a.$exist'],
    [{ body: { a: { $regex: 5 } } }, 'body.a.$regex'],
    [{ body: { a: { $regex: '(' } } }, 'body.a.$regex'],
    [{ body: { a: { $regex: '(a)\\1' } } }, 'body.a.$regex'],
    [{ body: { a: { $regex: 'a'.repeat(1_001) } } }, 'body.a.$regex'],
    [{ body: { a: { $regex: '(\\w\\d){200}' } } }, 'body.a.$regex'],
    [{ body: { 'a.b': 1, a: { b: 2 } } }, 'body.a.b'],
    [{ headers: { 'X-A': 1, 'x-a': 2 } }, 'headers.x-a'],
    [{ body: [] }, 'body'],
    [{ body: 'x' }, 'body'],
    [{ body: { ['a.'.repeat(10_000)]: 1 } }, 'body'],
    [{ body: { x: { ['a.'.repeat(19)]: 1 } } }, 'body.x'],
    [{ body: { x: { ['a'.repeat(999)]: 1 } } }, 'body.x'],
    [{ body: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`f${at}`, at])) }, 'body.f500'],
  ])('%j', (scopes, path) => {
    const { path: found, message } = mistake(scopes);
    expect(found).toBe(path);
    expect(message).not.toBe('');
  });

  test('a valid filter is accepted', () => {
    expect(validateFilter({ body: { x: { ['a.'.repeat(18)]: 1, ['a'.repeat(998)]: 1 } } })).toEqual({
      ok: true,
    });
    expect(validateFilter({ body: { a: { $gt: 1 } } })).toEqual({ ok: true });
  });

  test.each<[string, string, string]>([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
    ['lists of objects', '[{"a":', '}]'],
    ['alternatives', '{"$or":[', ']}'],
    ['operands', '{"$eq":', '}'],
  ])('a filter of 10,000 nested %s is refused', (_, open, close) => {
    const filter: unknown = JSON.parse(`{"a":${open.repeat(10_000)}{}${close.repeat(10_000)}}`);
    expect(mistake({ body: filter }).path).toBe('body');
  });
});

describe('explanations', () => {
  const explain = (scopes: FilterScopes, input: Partial<FilterInput>) =>
    compiled(scopes).explain(new FilterSubject({ ...nothing, ...input }));

  test('a match has no explanation', () => {
    expect(explain({ body: { a: 1 } }, { body: { a: 1 } })).toEqual({ matched: true });
  });

  test('the explanation names the first failing condition and the actual value', () => {
    const filter = { body: { a: 1, b: { $gt: 5 }, c: 3 } };
    expect(explain(filter, { body: { a: 1, b: 2 } })).toEqual({
      matched: false,
      scope: 'body',
      path: 'b',
      operator: '$gt',
      expected: 5,
      actual: 2,
      reason: 'b is 2, not greater than 5.',
    });
    expect(explain(filter, { body: { a: 1, b: 6 } })).toMatchObject({
      path: 'c',
      actual: undefined,
      reason: 'There is no field c.',
    });
  });

  test.each<[unknown, unknown, string]>([
    [{ $gt: 100 }, 50, 'a is 50, not greater than 100.'],
    [{ $gte: 100 }, '50', 'a is "50", not at least 100.'],
    [{ $lt: 100 }, 150, 'a is 150, not less than 100.'],
    [{ $lte: '100' }, 150, 'a is 150, not at most "100".'],
    [{ $gt: 100 }, 'many', 'a is "many", not a number greater than 100.'],
    [{ $gt: 'many' }, 50, 'a is 50, and no number is greater than "many".'],
    [{ $eq: 'x' }, 'y', 'a is "y", not "x".'],
    ['x', ['y'], 'a is ["y"], which does not hold "x".'],
    [{ $neq: 1 }, 1, 'a is 1, which it must not be.'],
    [{ $in: [1, 2] }, 3, 'a is 3, not one of [1,2].'],
    [{ $in: [1, 2] }, [3], 'a is [3], which holds none of [1,2].'],
    [{ $in: 1 }, [3], 'a is [3], which does not hold 1.'],
    [{ $in: 1 }, 1, 'a is 1, not a list, and $in with a single value looks into lists.'],
    [{ $nin: [1, 2] }, 1, 'a is 1, one of [1,2].'],
    [{ $nin: [1, 2] }, [1], 'a is [1], which holds one of [1,2].'],
    [{ $nin: 1 }, [1], 'a is [1], which holds 1.'],
    [{ $nin: 1 }, 1, 'a is 1, not a list, and $nin with a single value looks into lists.'],
    [{ $regex: '^x' }, 'y', 'a is "y", which does not match "^x".'],
    [{ $regex: '^x' }, 5, 'a is 5, not a text to match "^x".'],
    [{ $exist: false }, null, 'a is null, and must not be there.'],
    [{ $exist: true }, undefined, 'There is no field a.'],
    ['x'.repeat(100), 1, `a is 1, not "${'x'.repeat(79)}....`],
  ])('%j of %j is explained in one sentence', (condition, actual, reason) => {
    expect(explain({ body: { a: condition } }, { body: { a: actual } })).toMatchObject({ reason });
  });

  test('alternatives within alternatives are counted, and no more than three are explained', () => {
    const nested = { $or: [{ a: 1 }, { a: 2 }] };
    expect(explain({ body: { $or: [nested, { a: 4 }] } }, { body: { a: 3 } })).toMatchObject({
      reason: 'None of the 2 alternatives holds: none of 2 alternatives holds; a is 3, not 4.',
    });
    const many = { $or: [1, 2, 4, 5].map((a) => ({ a })) };
    expect(explain({ body: many }, { body: { a: 3 } })).toMatchObject({
      reason: 'None of the 4 alternatives holds: a is 3, not 1; a is 3, not 2; a is 3, not 4; and more.',
    });
  });

  test('the explanation names the failing one of several operators', () => {
    expect(explain({ body: { a: { $neq: 1, $lt: 5 } } }, { body: { a: 9 } })).toMatchObject({
      operator: '$lt',
    });
    expect(explain({ body: { a: { $neq: 1, $lt: 5 } } }, { body: {} })).toMatchObject({ operator: '$lt' });
  });

  test('the explanation shows the values found behind a wildcard', () => {
    const body = { d: [{ n: 1 }, { n: 20 }, {}] };
    expect(explain({ body: { 'd.$.n': { $gt: 5, $lt: 10 } } }, { body })).toMatchObject({
      path: 'd.$.n',
      actual: [1, 20],
      reason: "No element's d.$.n satisfies $gt 5 and $lt 10; found 1, 20.",
    });
  });

  test('the explanation names a failed $or as a whole', () => {
    const filter = { body: { $and: [{ z: 1 }, { $or: [{ a: 1 }, { a: 2 }] }] } };
    expect(explain(filter, { body: { a: 3, z: 1 } })).toMatchObject({
      operator: '$or',
      path: '$or',
      reason: 'None of the 2 alternatives holds: a is 3, not 1; a is 3, not 2.',
    });
  });

  test('other scopes and payloads that are not JSON are explained too', () => {
    expect(explain({ headers: { 'X-A': '1' } }, {})).toMatchObject({ scope: 'headers', path: 'x-a' });
    expect(explain({ body: { a: 1 } }, {})).toMatchObject({
      scope: 'body',
      reason: 'The payload is not JSON, so a filter on the body cannot match.',
    });
  });
});
