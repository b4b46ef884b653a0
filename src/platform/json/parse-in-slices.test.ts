import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countTurns } from '../../../test/support/suite/count-turns.ts';
import { parseInSlices, SLICE_CHARS } from './parse-in-slices.ts';

/** Both the value with the order of its names, and whether there is one. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return JSON.stringify(await parse());
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return SyntaxError;
  }
}

async function agrees(text: string): Promise<void> {
  const sliced = await outcome(() => parseInSlices(text, { sliceChars: 3 }));
  expect([text, sliced]).toEqual([text, await outcome(() => JSON.parse(text))]);
}

const json = fc
  .json({ maxDepth: 5, noUnicodeString: false })
  .chain((text) =>
    fc
      .constantFrom('', ' ', '\n')
      .map((blank) => text.replaceAll(/[,:[\]{}]/g, (sign) => `${blank}${sign}${blank}`)),
  );

test('the result is that of JSON.parse', async () => {
  await fc.assert(fc.asyncProperty(json, agrees), { numRuns: 300 });
});

test('what JSON.parse refuses is refused, and nothing else', async () => {
  const signs = ['[', ']', '{', '}', ',', ':', '"', '\\', '0', '-', 'null', ' ', '"a":', '"b"'];
  const mutated = fc.tuple(json, fc.nat(), fc.constantFrom('', ...signs)).map(([text, at, sign]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + sign + text.slice(place + (at % 2));
  });
  const anything = fc.array(fc.constantFrom(...signs), { maxLength: 14 }).map((parts) => parts.join(''));
  await fc.assert(fc.asyncProperty(fc.oneof(mutated, anything), agrees), { numRuns: 2_000 });
});

test.each([
  '[1,2,3,]',
  '[1,2,3,,4]',
  '[[1,2,3,4]5,6]',
  '[[1,2,3,4],[1,2,3,4]]',
  '{"a":1{"b":[1,2,3]}}',
  '{"a":[1,2,3,4],"b":2,"a":{"c":[1,2,3,4]}}',
  '{"__proto__":[1,2,3,4],"b":{"__proto__":1,"c":2}}',
  '{"2":[1,2,3],"1":[1,2,3]}',
  '[[1,2,3]}',
  '[1,2,3] [4,5,6]',
  '1 [1,2,3,4]',
  '[1,2,3,4',
  '  [ 1 , 2 , 3 , [ ] ]  ',
  '"a,b,c,d,e"',
  '',
])('%s is read as by JSON.parse', agrees);

test('no slice has more than its characters and one text', async () => {
  const longest = 1_000;
  const items = Array.from(
    { length: 100_000 },
    (_, n) => [{}, { name: 'x'.repeat(n % longest) }, [[n]]][n % 3],
  );
  const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`name ${n}`, [n]]));
  for (const value of [items, wide, { data: { items, wide } }]) {
    const slices: number[] = [];
    const parse = (slice: string) => {
      slices.push(slice.length);
      return JSON.parse(slice) as unknown;
    };
    expect(JSON.stringify(await parseInSlices(JSON.stringify(value), { parse }))).toBe(JSON.stringify(value));
    expect(slices.length).toBeGreaterThan(3);
    expect(Math.max(...slices)).toBeLessThan(SLICE_CHARS + longest + 100);
  }
});

test.each([
  ['a text', `"${'\\"'.repeat(20 * SLICE_CHARS)}"`],
  ['a number', '1'.repeat(40 * SLICE_CHARS)],
  ['blanks', `${' '.repeat(40 * SLICE_CHARS)}0`],
])('the pass over %s pauses', async (_, long) => {
  const { turns, result } = await countTurns(() => parseInSlices(`[${long}]`));
  expect(result).toEqual(JSON.parse(`[${long}]`));
  expect(turns).toBeGreaterThanOrEqual(20);
});
