import { describe, expect, test } from 'vitest';
import { overlapOf } from './subscription-overlap.ts';

const subscription = (id: string, event_types: string[], source_id = '') => ({ id, source_id, event_types });
const idsOf = (...all: ReturnType<typeof subscription>[]) => overlapOf(all)?.map(({ id }) => id);

describe('two subscriptions', () => {
  test.each([
    [['a'], ['a']],
    [['a.*'], ['a.b']],
    [['a.b'], ['x', 'a.*']],
    [['a.*'], ['a.b*']],
    [['*'], ['a']],
    [['*'], ['*']],
    [['a*'], ['a']],
    [['a.*', 'b'], ['a.c']],
    [
      ['a*', 'ab', 'abc*', 'b'],
      ['aa', 'abcd'],
    ],
  ])('overlap: %j and %j', (one, other) => {
    expect(idsOf(subscription('1', one), subscription('2', other))).toEqual(['1', '2']);
    expect(idsOf(subscription('2', other), subscription('1', one))).toEqual(['1', '2']);
  });

  test.each([
    [['a'], ['b']],
    [['a'], ['ab']],
    [['a.*'], ['a', 'ab', 'b.*']],
    [['a.*', 'a.b', 'a.*'], ['c']],
    [[], ['*']],
  ])('do not overlap: %j and %j', (one, other) => {
    expect(idsOf(subscription('1', one), subscription('2', other))).toBeUndefined();
  });

  test('of two sources do not overlap; one without a source overlaps with each', () => {
    const [a, b] = [subscription('1', ['*'], 's'), subscription('2', ['x', 'y*'], 't')];
    expect(idsOf(a, b)).toBeUndefined();
    expect(idsOf(a, b, subscription('3', ['x']))).toContain('3');
    expect(idsOf(a, b, subscription('3', ['x'], 's'))).toEqual(['1', '3']);
    expect(idsOf(b, subscription('3', ['z'])) ?? idsOf(b, subscription('3', ['x']))).toEqual(['2', '3']);
    // A pattern of the same source that has ended does not hide the one around it.
    expect(idsOf(subscription('1', ['a*', 'ab*'], 's'), subscription('3', ['ac'], 's'))).toEqual(['1', '3']);
  });
});

test('the types of each subscription are read once, however many there are', () => {
  let reads = 0;
  const all = Array.from({ length: 100 }, (_, n) => {
    const types = Array.from({ length: 1_000 }, (_unused, m) => `type.${n}.${m}${m % 2 === 0 ? '.*' : ''}`);
    return {
      id: String(n),
      source_id: '',
      get event_types() {
        reads += 1;
        return types;
      },
    };
  });
  expect(overlapOf(all)).toBeUndefined();
  expect(reads).toBe(100);
});
