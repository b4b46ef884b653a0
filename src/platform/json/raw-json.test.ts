import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compactJson,
  cutItems,
  cutTopLevel,
  RawJson,
  stringifyInSlices,
  stringifyWithRaw,
  WRITTEN_AT_ONCE,
} from './raw-json.ts';

// JSON text built from tokens, to include forms that JSON.stringify never writes: whitespace anywhere, number
// forms that lose precision, needless escapes, duplicate keys.
const whitespace = fc.stringMatching(/^[ \t\n\r]{0,3}$/);
const numbers = fc.oneof(
  fc.constantFrom('1.0', '1e400', '-0', '12345678901234567890', '0.10', '1E+2', '-1e-400'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => JSON.stringify(n)),
);
const strings = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }).map((s) => JSON.stringify(s).slice(1, -1)),
      fc.constantFrom('\\"', '\\\\', '\\/', '\\u0061', '\\u0022', '\\ud800', ' ', '{', '}', '[', ',', ':'),
    ),
    { maxLength: 4 },
  )
  .map((parts) => `"${parts.join('')}"`);
const keys = fc.oneof(strings, fc.constantFrom('"a"', '"\\u0061"', '"data"', '"__proto__"', '""'));

/** A JSON text with whitespace, and the same text without. */
interface Sample {
  spaced: string;
  compact: string;
}

const scalar = fc.oneof(numbers, strings, fc.constantFrom('true', 'false', 'null'));
const { sample } = fc.letrec<{ sample: Sample; array: Sample; object: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar.map((text) => ({ spaced: text, compact: text })),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(fc.tuple(whitespace, tie('sample'), whitespace), { maxLength: 4 }).map((items) => ({
    spaced: `[${items.map(([before, item, after]) => before + item.spaced + after).join(',')}]`,
    compact: `[${items.map(([, item]) => item.compact).join(',')}]`,
  })),
  object: fc
    .array(fc.tuple(whitespace, keys, whitespace, tie('sample')), { maxLength: 5 })
    .map((members) => ({
      spaced: `{${members.map(([w1, key, w2, item]) => `${w1}${key}${w2}:${w1}${item.spaced}${w2}`).join(',')}}`,
      compact: `{${members.map(([, key, , item]) => `${key}:${item.compact}`).join(',')}}`,
    })),
}));

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

describe('stringifyWithRaw', () => {
  it('is JSON.stringify where there is no raw JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(stringifyWithRaw(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('inserts raw texts verbatim wherever they are', () => {
    fc.assert(
      fc.property(fc.array(sample), fc.string(), (samples, key) => {
        const raws = samples.map(({ spaced }) => new RawJson(spaced));
        const expected = `[${samples.map(({ spaced }) => spaced.replaceAll(/\p{Surrogate}/gu, escaped)).join(',')}]`;
        expect(stringifyWithRaw(raws)).toBe(expected);
        expect(stringifyWithRaw({ [key]: { raws }, again: raws })).toBe(
          JSON.stringify({ [key]: { raws: 0 }, again: 1 })
            .replace('{"raws":0}', () => `{"raws":${expected}}`)
            .replace(/1\}$/, () => `${expected}}`),
        );
      }),
    );
  });

  it('works at the top, next to undefined members, and twice in one value', () => {
    const raw = new RawJson('1.0');
    expect(stringifyWithRaw(raw)).toBe('1.0');
    expect(stringifyWithRaw({ a: undefined, b: raw, c: [raw, undefined] })).toBe('{"b":1.0,"c":[1.0,null]}');
  });

  it('does not interpret replacement patterns or placeholders in a raw text', () => {
    const texts = ['"$&$1$$"', '"$`"'];
    expect(stringifyWithRaw(texts.map((text) => new RawJson(text)))).toBe(`[${texts.join(',')}]`);
    let leaked: unknown;
    const spy = {
      toJSON() {
        leaked = new RawJson('1').toJSON();
        return leaked;
      },
    };
    stringifyWithRaw(spy);
    const quoted = JSON.stringify(leaked);
    expect(stringifyWithRaw([new RawJson(quoted), new RawJson('2.0')])).toBe(`[${quoted},2.0]`);
  });

  it('writes lone surrogates as escapes, so that UTF-8 carries them', () => {
    const json = stringifyWithRaw({ plain: '\ud800', raw: new RawJson('"\udfff\ud83d\ude00"') });
    expect(json).toBe('{"plain":"\\ud800","raw":"\\udfff\ud83d\ude00"}');
    expect(Buffer.from(json).toString()).toBe(json);
  });

  it('works inside another call, and after a failed one', () => {
    const nested = { toJSON: () => stringifyWithRaw([new RawJson('1.0')]) };
    expect(stringifyWithRaw([new RawJson('2.0'), nested, new RawJson('3.0')])).toBe('[2.0,"[1.0]",3.0]');
    const circular: unknown[] = [new RawJson('1.0')];
    circular.push(circular);
    expect(() => stringifyWithRaw(circular)).toThrow(TypeError);
    expect(JSON.stringify([new RawJson('1.0')])).toBe('[1]');
    expect(() => stringifyWithRaw(undefined)).toThrow(TypeError);
  });

  it('does not change its argument', () => {
    const raw = new RawJson('1.0');
    const value = { list: [raw], field: raw, plain: { deep: [1] } };
    stringifyWithRaw(value);
    expect(value).toEqual({ list: [raw], field: raw, plain: { deep: [1] } });
    expect(value.list[0]).toBe(raw);
  });

  it('leaves objects with toJSON and omitted members alone', () => {
    const hidden = { raw: new RawJson('1.0'), toJSON: () => 'own form' };
    const inherited = Object.create({ raw: new RawJson('2.0') }) as object;
    expect(stringifyWithRaw([hidden, inherited, new RawJson('3.0')])).toBe('["own form",{},3.0]');
  });

  it('writes a value nested 100,000 levels deep', () => {
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const value = { deep: JSON.parse(nested) as unknown, raw: new RawJson('1.0') };
    expect(stringifyWithRaw(value)).toBe(`{"deep":${nested},"raw":1.0}`);
  });
});

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16)}`;
}

describe('stringifyInSlices', () => {
  it('writes the bytes of every raw value and leaves the rest', async () => {
    const value = { a: [new RawJson('"é"')], b: { c: new RawJson('') }, d: 'x' };
    expect(String(await stringifyInSlices(value, { asBytes: true }))).toBe(
      '{"a":[[34,195,169,34]],"b":{"c":[]},"d":"x"}',
    );
  });

  it('writes the given bytes instead of those of the text', async () => {
    const bytes = Buffer.from([0, 255]);
    const raw = new RawJson(JSON.stringify(bytes.toString('base64')), bytes);
    expect(String(await stringifyInSlices(raw, { asBytes: true }))).toBe('[0,255]');
    expect(stringifyWithRaw(raw)).toBe('"AP8="');
  });

  it('does not affect later calls, even after a failure', async () => {
    await expect(stringifyInSlices(undefined, { asBytes: true })).rejects.toThrow(TypeError);
    expect(stringifyWithRaw(new RawJson('1.0'))).toBe('1.0');
  });

  it('writes a bounded part in a turn', async () => {
    const payload = 'x'.repeat(1_000);
    const value = Array.from({ length: 2_000 }, (_, n) => ({ n, data: new RawJson(`"${payload}"`) }));
    for (const asBytes of [true, false]) {
      const slices: number[] = [];
      const text = String(
        await stringifyInSlices(value, { asBytes, onSlice: (chars) => slices.push(chars) }),
      );
      expect(slices.length).toBeGreaterThan(5);
      expect(Math.max(...slices)).toBeLessThan(WRITTEN_AT_ONCE + 5 * payload.length);
      if (!asBytes) expect(text).toBe(stringifyWithRaw(value));
    }
  });
});
