import fc from 'fast-check';
import { expect, test } from 'vitest';
import { excessOf, JsonShape } from './json-shape.ts';

/** The depth and the names of a value, as its parser would count them. */
function shapeOf(value: unknown): { depth: number; names: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, names: 0 };
  const inner = Object.values(value).map(shapeOf);
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    names: inner.reduce((sum, { names }) => sum + names, own),
  };
}

const bytes = (text: string) => Buffer.from(text);

test('the depth and the names are those of the value, however it is cut into chunks', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(), (value, at) => {
      const json = bytes(JSON.stringify(value));
      const { depth, names } = shapeOf(value);
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
  ['a text that ends with a backslash', '["\\\\",[[]]]', { depth: 2, names: 0 }, 'depth'],
  ['a repeated name', '{"a":1,"a":2}', { depth: 1, names: 1 }, 'names'],
  ['siblings', '[[],[],{},[]]', { depth: 2, names: 0 }, undefined],
  ['nothing', '', { depth: 0, names: 0 }, undefined],
] as const)('%s', (_, text, bounds, excess) => {
  expect(excessOf(bytes(text), bounds)).toBe(excess);
  for (let at = 0; at <= text.length; at++) {
    const shape = new JsonShape(bounds);
    expect(shape.push(bytes(text.slice(0, at))) ?? shape.push(bytes(text.slice(at)))).toBe(excess);
  }
});
