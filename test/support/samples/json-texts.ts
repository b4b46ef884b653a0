import * as fc from 'fast-check';

// JSON text built from tokens, to include forms that JSON.stringify never writes: whitespace anywhere, number
// forms that lose precision, needless escapes, duplicate keys.
export const whitespace = fc.stringMatching(/^[ \t\n\r]{0,3}$/);
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
export const keys = fc.oneof(strings, fc.constantFrom('"a"', '"\\u0061"', '"data"', '"__proto__"', '""'));

/** A JSON text with whitespace, and the same text without. */
export interface Sample {
  spaced: string;
  compact: string;
}

const scalar = fc.oneof(numbers, strings, fc.constantFrom('true', 'false', 'null'));
export const { sample } = fc.letrec<{ sample: Sample; array: Sample; object: Sample }>((tie) => ({
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
