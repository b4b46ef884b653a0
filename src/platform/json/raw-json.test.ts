import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sample } from '../../../test/support/samples/json-texts.ts';
import {
  ITEMS_AT_ONCE,
  RawJson,
  stringifyInSlices,
  stringifyWithRaw,
  TEXT_AT_ONCE,
  WRITTEN_AT_ONCE,
} from './raw-json.ts';

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

  it('divides the bytes of a large payload, and long lists within lists', async () => {
    const bytes = Buffer.from(Array.from({ length: 3 * WRITTEN_AT_ONCE }, (_, n) => n % 256));
    const lists = Array.from({ length: 2 * ITEMS_AT_ONCE }, (_, n) => [n, undefined, new RawJson('1.0')]);
    const value = { data: { content: [...lists, lists], none: undefined }, large: new RawJson('""', bytes) };
    const slices: number[] = [];
    const onSlice = (length: number) => slices.push(length);
    const text = String(await stringifyInSlices(value, { asBytes: true, onSlice }));
    const numbers = (json: string) => json.replaceAll('1.0', `[${Buffer.from('1.0').join(',')}]`);
    expect(text).toBe(numbers(stringifyWithRaw({ ...value, large: [...bytes] })));
    expect(slices.length).toBeGreaterThan(9);
    expect(Math.max(...slices)).toBeLessThanOrEqual(2 * WRITTEN_AT_ONCE);
  });

  it('divides long texts and raw JSON between characters', async () => {
    for (const before of ['', 'x']) {
      const text = `${before}${'\u{1f600}"\\\udc00'.repeat(WRITTEN_AT_ONCE)}\ud83d`;
      const value = [
        { text, raw: new RawJson(JSON.stringify(text)), name: 'x'.repeat(TEXT_AT_ONCE + 1) },
        text,
      ];
      const slices: number[] = [];
      const onSlice = (length: number) => slices.push(length);
      const written = await stringifyInSlices(value, { asBytes: false, onSlice });
      expect(written.equals(Buffer.from(stringifyWithRaw(value)))).toBe(true);
      expect(slices.length).toBeGreaterThan(20);
      expect(Math.max(...slices)).toBeLessThanOrEqual(8 * WRITTEN_AT_ONCE);
    }
  });
});
