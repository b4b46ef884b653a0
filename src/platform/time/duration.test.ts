import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatGoDuration, parseGoDuration } from './duration.ts';

const maxWholeMs = 9_223_372_036_854;

describe('parseGoDuration', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['+0', 0],
    ['0s', 0],
    ['5s', 5_000],
    ['1h3m', 3_780_000],
    ['1h0m0s', 3_600_000],
    ['720h', 2_592_000_000],
    ['1.5s', 1_500],
    ['.5s', 500],
    ['5.s', 5_000],
    ['-1m', -60_000],
    ['+1m', 60_000],
    ['-1.5h', -5_400_000],
    ['250ms', 250],
    ['1us', 0.001],
    ['1\u00b5s', 0.001],
    ['1\u03bcs', 0.001],
    ['1ns', 0.000_001],
    ['0.000000001s', 0.000_001],
    ['1m1ms', 60_001],
    ['3m2h1m', 7_440_000],
    ['0000000000000000000000000001s', 1_000],
    ['0.3333333333333333333h', 1_200_000 - 0.000_001],
    ['9223372036854775807ns', 9_223_372_036_854.775],
    ['-9223372036854775808ns', -9_223_372_036_854.775],
  ])('reads %s', (text, ms) => {
    expect(parseGoDuration(text)).toBe(ms);
  });

  it.each([
    '',
    '-',
    '+',
    '3',
    '00',
    's',
    '.',
    '.s',
    '-.s',
    '+.5',
    '1x',
    '1d',
    '1h ',
    ' 1h',
    '1 h',
    '1mh',
    '1H',
    '--1s',
    '1s-1s',
    '1e3s',
    '1..5s',
    '1.5.5s',
    'Infinity',
    '1\u0663s',
    '9223372036854775808ns',
    '-9223372036854775809ns',
    '2562048h',
    '9223372036854775807ns1ns',
    `${'9'.repeat(1_000_000)}s`,
    '0'.repeat(1_000_000),
    `0.${'0'.repeat(1_000_000)}`,
  ])('refuses %.40s', (text) => {
    expect(parseGoDuration(text)).toBeNull();
  });

  it('returns a number or null for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+]?[0-9.]*[nuµmsh0-9.]*$/)), (text) => {
        const ms = parseGoDuration(text);
        expect(ms === null || Number.isFinite(ms)).toBe(true);
      }),
    );
  });

  it('adds up its terms', () => {
    const natural = fc.nat(1_000_000);
    fc.assert(
      fc.property(natural, natural, natural, natural, (h, m, s, ms) => {
        expect(parseGoDuration(`${h}h${m}m${s}s${ms}ms`)).toBe(((h * 60 + m) * 60 + s) * 1_000 + ms);
      }),
    );
  });
});

describe('formatGoDuration', () => {
  it.each([
    [0, '0s'],
    [-0, '0s'],
    [0.000_001, '1ns'],
    [0.000_999, '999ns'],
    [0.0011, '1.1\u00b5s'],
    [2.2, '2.2ms'],
    [12.4, '12.4ms'],
    [100, '100ms'],
    [999.999_999, '999.999999ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [3_300, '3.3s'],
    [60_000, '1m0s'],
    [61_001, '1m1.001s'],
    [245_000, '4m5s'],
    [3_600_000, '1h0m0s'],
    [3_780_000, '1h3m0s'],
    [18_367_001, '5h6m7.001s'],
    [-90_000, '-1m30s'],
    [2_592_000_000, '720h0m0s'],
  ])('prints %d ms as Go does', (ms, text) => {
    expect(formatGoDuration(ms)).toBe(text);
  });

  it('prints a text that parses back to the same millisecond over the whole range', () => {
    fc.assert(
      fc.property(fc.integer({ min: -maxWholeMs, max: maxWholeMs }), (ms) => {
        expect(parseGoDuration(formatGoDuration(ms))).toBe(ms);
      }),
    );
  });

  it('prints a text that parses back to the same nanosecond below a day', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000_000_000 }), (ns) => {
        const text = formatGoDuration(ns / 1e6);
        expect(Math.round(parseGoDuration(text)! * 1e6)).toBe(ns);
      }),
    );
  });
});
