import { describe, expect, test } from 'vitest';
import { compiled, subjectWith } from '../../test/support/filters.ts';
import type { FilterScopes } from './filter.ts';
import type { FilterInput } from './filter-subject.ts';
import { resultOf } from './work-meter.ts';

describe('explanations', () => {
  const explain = (scopes: FilterScopes, input: Partial<FilterInput>) =>
    resultOf(compiled(scopes).explaining(subjectWith(input)));

  test('a match has no explanation', () => {
    expect(explain({ body: { a: 1 } }, { body: { a: 1 } })).toEqual({ matched: true });
  });

  test('the explanation names the first failing condition and the actual value', () => {
    const filter = { body: { a: 1, b: { $gt: 5 }, c: 3 } };
    expect(explain(filter, { body: { a: 1, b: 2 } })).toEqual({
      matched: false,
      scope: 'body',
      path: 'b',
      operator: '$gt',
      expected: 5,
      actual: 2,
      reason: 'b is 2, not greater than 5.',
    });
    expect(explain(filter, { body: { a: 1, b: 6 } })).toMatchObject({
      path: 'c',
      actual: undefined,
      reason: 'There is no field c.',
    });
  });

  test.each<[unknown, unknown, string]>([
    [{ $gt: 100 }, 50, 'a is 50, not greater than 100.'],
    [{ $gte: 100 }, '50', 'a is "50", not at least 100.'],
    [{ $lt: 100 }, 150, 'a is 150, not less than 100.'],
    [{ $lte: '100' }, 150, 'a is 150, not at most "100".'],
    [{ $gt: 100 }, 'many', 'a is "many", not a number greater than 100.'],
    [{ $gt: 'many' }, 50, 'a is 50, and no number is greater than "many".'],
    [{ $eq: 'x' }, 'y', 'a is "y", not "x".'],
    ['x', ['y'], 'a is ["y"], which does not hold "x".'],
    [{ $neq: 1 }, 1, 'a is 1, which it must not be.'],
    [{ $in: [1, 2] }, 3, 'a is 3, not one of [1,2].'],
    [{ $in: [1, 2] }, [3], 'a is [3], which holds none of [1,2].'],
    [{ $in: 1 }, [3], 'a is [3], which does not hold 1.'],
    [{ $in: 1 }, 1, 'a is 1, not a list, and $in with a single value looks into lists.'],
    [{ $nin: [1, 2] }, 1, 'a is 1, one of [1,2].'],
    [{ $nin: [1, 2] }, [1], 'a is [1], which holds one of [1,2].'],
    [{ $nin: 1 }, [1], 'a is [1], which holds 1.'],
    [{ $nin: 1 }, 1, 'a is 1, not a list, and $nin with a single value looks into lists.'],
    [{ $regex: '^x' }, 'y', 'a is "y", which does not match "^x".'],
    [{ $regex: '^x' }, 5, 'a is 5, not a text to match "^x".'],
    [{ $exist: false }, null, 'a is null, and must not be there.'],
    [{ $exist: true }, undefined, 'There is no field a.'],
    ['x'.repeat(100), 1, `a is 1, not "${'x'.repeat(79)}....`],
  ])('%j of %j is explained in one sentence', (condition, actual, reason) => {
    expect(explain({ body: { a: condition } }, { body: { a: actual } })).toMatchObject({ reason });
  });

  test('alternatives within alternatives are counted, and no more than three are explained', () => {
    const nested = { $or: [{ a: 1 }, { a: 2 }] };
    expect(explain({ body: { $or: [nested, { a: 4 }] } }, { body: { a: 3 } })).toMatchObject({
      reason: 'None of the 2 alternatives holds: none of 2 alternatives holds; a is 3, not 4.',
    });
    const many = { $or: [1, 2, 4, 5].map((a) => ({ a })) };
    expect(explain({ body: many }, { body: { a: 3 } })).toMatchObject({
      reason: 'None of the 4 alternatives holds: a is 3, not 1; a is 3, not 2; a is 3, not 4; and more.',
    });
  });

  test('the explanation names the failing one of several operators', () => {
    expect(explain({ body: { a: { $neq: 1, $lt: 5 } } }, { body: { a: 9 } })).toMatchObject({
      operator: '$lt',
    });
    expect(explain({ body: { a: { $neq: 1, $lt: 5 } } }, { body: {} })).toMatchObject({ operator: '$lt' });
  });

  test('the explanation shows the values found behind a wildcard', () => {
    const body = { d: [{ n: 1 }, { n: 20 }, {}] };
    expect(explain({ body: { 'd.$.n': { $gt: 5, $lt: 10 } } }, { body })).toMatchObject({
      path: 'd.$.n',
      actual: [1, 20],
      reason: "No element's d.$.n satisfies $gt 5 and $lt 10; found 1, 20.",
    });
  });

  test('the explanation names a failed $or as a whole', () => {
    const filter = { body: { $and: [{ z: 1 }, { $or: [{ a: 1 }, { a: 2 }] }] } };
    expect(explain(filter, { body: { a: 3, z: 1 } })).toMatchObject({
      operator: '$or',
      path: '$or',
      reason: 'None of the 2 alternatives holds: a is 3, not 1; a is 3, not 2.',
    });
  });

  test('other scopes and payloads that are not JSON are explained too', () => {
    expect(explain({ headers: { 'X-A': '1' } }, {})).toMatchObject({ scope: 'headers', path: 'x-a' });
    expect(explain({ body: { a: 1 } }, {})).toMatchObject({
      scope: 'body',
      reason: 'The payload is not JSON, so a filter on the body cannot match.',
    });
  });
});
