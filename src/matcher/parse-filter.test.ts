import { describe, expect, test } from 'vitest';
import { type FilterScopes, validateFilter } from './filter.ts';

function mistake(scopes: FilterScopes): { path: string; message: string } {
  const result = validateFilter(scopes);
  if (result.ok) throw new Error('the filter was accepted');
  return { path: result.path, message: result.message };
}

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
