import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countTurns } from '../../../test/support/suite/count-turns.ts';
import { excessInSlices, excessOf, JsonShape, SCANNED_AT_ONCE } from './json-shape.ts';

/** The depth and the names of a value, as its parser would count them. `opened`: its lists and objects. */
function shapeOf(value: unknown): { depth: number; names: number; opened: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, names: 0, opened: 0 };
  const inner = Object.values(value).map(shapeOf);
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    names: inner.reduce((sum, { names }) => sum + names, own),
    opened: inner.reduce((sum, { opened }) => sum + opened, 1),
  };
}

const bytes = (text: string) => Buffer.from(text);

test('the depth and the names are those of the value, however it is cut into chunks', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(), (value, at) => {
      const json = bytes(JSON.stringify(value));
      const { depth, opened, ...shape } = shapeOf(value);
      const names = Math.max(shape.names, Math.ceil(opened / 2));
      const cut = at % (json.length + 1);
      const within = new JsonShape({ depth, names });
      expect(within.push(json.subarray(0, cut)) ?? within.push(json.subarray(cut))).toBeUndefined();
      expect(excessOf(json, { depth, names })).toBeUndefined();
      if (depth > 0) expect(excessOf(json, { depth: depth - 1, names })).toBe('depth');
      if (names > 0) expect(excessOf(json, { depth, names: names - 1 })).toBe('names');
    }),
  );
});

test.each([
  ['brackets and colons in texts', '{"a:[{":"[[[{{\\"[:::"}', { depth: 1, names: 1 }, undefined],
  ['a text that ends with a backslash', '["\\\\",[[]]]', { depth: 2, names: 9 }, 'depth'],
  ['a repeated name', '{"a":1,"a":2}', { depth: 1, names: 1 }, 'names'],
  ['siblings', '[[],[],{},[],[]]', { depth: 2, names: 3 }, undefined],
  ['too many siblings', '[[],[],{},[],[],{}]', { depth: 2, names: 3 }, 'names'],
  ['nothing', '', { depth: 0, names: 0 }, undefined],
] as const)('%s', (_, text, bounds, excess) => {
  expect(excessOf(bytes(text), bounds)).toBe(excess);
  for (let at = 0; at <= text.length; at++) {
    const shape = new JsonShape(bounds);
    expect(shape.push(bytes(text.slice(0, at))) ?? shape.push(bytes(text.slice(at)))).toBe(excess);
  }
});

test('large JSON is scanned in slices, and other work has its turn in between', async () => {
  const large = bytes(`[${'0,'.repeat(2 * SCANNED_AT_ONCE)}[[]]]`);
  const { turns } = await countTurns(async () => {
    expect(await excessInSlices(large, { depth: 3, names: 2 })).toBeUndefined();
    expect(await excessInSlices(large, { depth: 2, names: 2 })).toBe('depth');
  });
  expect(turns).toBeGreaterThanOrEqual(8);
});
