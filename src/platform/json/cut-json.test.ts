import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keys, sample, whitespace } from '../../../test/support/samples/json-texts.ts';
import { countTurns } from '../../../test/support/suite/count-turns.ts';
import {
  CUT_AT_ONCE,
  compactInSlices,
  compactJson,
  compactMember,
  cutInSlices,
  cutItems,
  cutTopLevel,
} from './cut-json.ts';

describe('compactJson', () => {
  it('removes the whitespace between tokens and nothing else', () => {
    fc.assert(
      fc.property(whitespace, sample, whitespace, (before, { spaced, compact }, after) => {
        const text = before + spaced + after;
        expect(compactJson(text).toString()).toBe(compact);
        expect(compactJson(compact).toString()).toBe(compact);
      }),
    );
  });

  it('has the same bytes in slices', async () => {
    const text = fc.tuple(whitespace, sample, fc.integer({ min: 1, max: 9 }));
    await fc.assert(
      fc.asyncProperty(text, async ([before, { spaced, compact }, atOnce]) => {
        expect((await compactInSlices(before + spaced, atOnce)).toString()).toBe(compact);
      }),
    );
  });

  it('undoes the indentation of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(1, 4, '\t'), (value, indent) => {
        expect(compactJson(JSON.stringify(value, null, indent)).toString()).toBe(JSON.stringify(value));
      }),
    );
  });

  it('keeps number text, key order, duplicates and escapes', () => {
    const text = '{ "b" : 1.0 , "a" : [ 1e400 , 12345678901234567890 ] , "b" : "\\u0041\\/ \\" x" }';
    expect(compactJson(text).toString()).toBe(
      '{"b":1.0,"a":[1e400,12345678901234567890],"b":"\\u0041\\/ \\" x"}',
    );
  });

  it('handles deep nesting, long strings and long runs of escapes', () => {
    const deep = `${'[ '.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(compactJson(deep).toString()).toBe(deep.replaceAll(' ', ''));
    const long = `["${'\\\\'.repeat(500_000)}" , "${'\\"'.repeat(500_000)}" ]`;
    expect(compactJson(long).toString()).toBe(long.replaceAll(' ', ''));
  });
});

describe('cutItems', () => {
  it('gives the text of every item', () => {
    const items = fc.array(fc.tuple(whitespace, sample, whitespace), { maxLength: 5 });
    fc.assert(
      fc.property(whitespace, items, sample, (before, list, other) => {
        const array = `[${before}${list.map(([w1, { spaced }, w2]) => `${w1}${spaced}${w2}`).join(',')}]`;
        const expected = list.map(([, { spaced }]) => spaced);
        const member = `"it\\u0065ms"${before}:${before}${array}`;
        for (const text of [
          `{${member}}`,
          `{ "x" :${other.spaced}, ${member} ,"y":[1] }`,
          `{"items":[0],${member}}`,
        ])
          expect(cutItems(text, 'items')).toEqual(expected);
      }),
    );
  });

  it.each([
    '{"a":[1]}',
    '[1]',
    '{"items":"[1]"}',
    '{"items":{"items":[1]}}',
    '{"items":[]}',
    '{"items" : [ ] }',
  ])('finds none in %s', (text) => expect(cutItems(text, 'items')).toEqual([]));
});

describe('cutTopLevel', () => {
  // JSON.parse is no reference here: in Node 26.10 it may keep the first of two equal keys on a second call.
  it('gives the text of the last member of every name', () => {
    const members = fc.array(fc.tuple(whitespace, keys, whitespace, sample), { maxLength: 5 });
    fc.assert(
      fc.property(whitespace, members, (before, list) => {
        const written = list.map(([w1, key, w2, { spaced }]) => `${w1}${key}${w2}:${w1}${spaced}${w2}`);
        const text = `${before}{${written.join(',')}}`;
        const last = new Map(list.map(([, key, , { spaced }]) => [JSON.parse(key) as string, spaced]));
        for (const [key, spaced] of last) expect(cutTopLevel(text, key)).toBe(spaced);
        expect(cutTopLevel(text, 'no such key')).toBeUndefined();
      }),
    );
  });

  it('cuts the same in slices', async () => {
    const members = fc.array(fc.tuple(whitespace, keys, sample), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(whitespace, members, fc.integer({ min: 1, max: 9 }), async (blank, list, atOnce) => {
        const written = list.map(
          ([after, key, { spaced }]) => `${blank}${key}${after}:${blank}${spaced}${after}`,
        );
        const text = `${blank}{${written.join(',')}}`;
        for (const [, key] of list) {
          const name = JSON.parse(key) as string;
          expect(await cutInSlices(text, name, atOnce)).toBe(cutTopLevel(text, name));
        }
        expect(await cutInSlices(text, 'no such key', atOnce)).toBeUndefined();
        expect(await cutInSlices(`${blank}[1]`, 'data', atOnce)).toBeUndefined();
      }),
    );
  });

  it.each([
    ['lists', `[${'[],'.repeat(CUT_AT_ONCE)}0]`],
    ['escapes', `"${'\\"'.repeat(CUT_AT_ONCE)}"`],
    ['members', `{${'"a":0,'.repeat(CUT_AT_ONCE)}"b":0}`],
  ])('large JSON of %s is cut and made compact in slices', async (_, data) => {
    const slices = Math.floor(data.length / CUT_AT_ONCE);
    const { turns, result } = await countTurns(() => compactMember(`{"x":${data},"data":${data}}`, 'data'));
    expect(result.toString()).toBe(data);
    expect(turns).toBeGreaterThanOrEqual(3 * slices - 3);
  });

  it.each([
    ['{"data":1.0}', '1.0'],
    ['{"data" : 1e400 }', '1e400'],
    ['{"x":0,"data":12345678901234567890}', '12345678901234567890'],
    ['\n{ "data" : { "a" : [ 1.0 ] } , "x" : 1 }', '{ "a" : [ 1.0 ] }'],
    ['{"data":"}\\",{\\\\"}', '"}\\",{\\\\"'],
    ['{"data":null,"x":{"data":2}}', 'null'],
    ['{"data":1,"d\\u0061ta":2.0}', '2.0'],
    ['{"d\\u0061ta":2.0,"data":1,"x":3}', '1'],
    ['{"data":[]}', '[]'],
    ['{"data":{}}', '{}'],
  ])('cuts data out of %s', (text, expected) => {
    expect(cutTopLevel(text, 'data')).toBe(expected);
  });

  it.each(['{}', ' { } ', '[{"data":1}]', '"data"', '1', 'null', '{"x":{"data":1}}', '{"DATA":1}'])(
    'finds nothing in %s',
    (text) => {
      expect(cutTopLevel(text, 'data')).toBeUndefined();
    },
  );

  it('passes over a deeply nested value', () => {
    const deep = `${'[{"a":'.repeat(100_000)}1.0${'}]'.repeat(100_000)}`;
    expect(cutTopLevel(`{"x":${deep},"data":${deep}}`, 'data')).toBe(deep);
  });
});
