import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileFilter } from './filter.ts';
import { FilterSubject } from './filter-subject.ts';
import { flatten, unflatten } from './flatten.ts';
import { resultOf } from './work-meter.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/**
 * A second, slow implementation of the language. It lists every dotted path of the payload and looks the
 * filter's paths up in that list. The real one walks the payload along the filter.
 */
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Every place of the payload, nested keys before dotted ones. Array steps carry a mark so that wildcards can
 * distinguish them from keys.
 */
function listPlaces(value: Json, steps: string[] = []): { steps: string[]; value: Json }[] {
  const below = Array.isArray(value)
    ? value.flatMap((item, at) => listPlaces(item, [...steps, `#${at}`]))
    : isObject(value)
      ? Object.entries(value)
          .sort(([a], [b]) => a.split('.').length - b.split('.').length)
          .flatMap(([key, item]) => listPlaces(item, [...steps, ...key.split('.')]))
      : [];
  return [{ steps, value }, ...below];
}

function slowValues(payload: Json, path: string): Json[] {
  const wanted = path.split('.');
  const fits = (step: string, segment: string) =>
    segment === '$' ? step.startsWith('#') : step === segment || step === `#${segment}`;
  return listPlaces(payload)
    .filter(
      ({ steps }) => steps.length === wanted.length && steps.every((step, at) => fits(step, wanted[at]!)),
    )
    .map(({ value }) => value);
}

const sorted = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(sorted)
    : isObject(value)
      ? Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, item]) => ['entry', key, sorted(item)])
      : value;
const strict = (a: Json, b: Json) =>
  JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)) && isObject(a) === isObject(b);
const slowNumber = (value: Json) =>
  typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))
    ? Number(value)
    : NaN;
const loose = (a: Json, b: Json) => strict(a, b) || slowNumber(a) === slowNumber(b);

function slowTest(operator: string, operand: Json, value: Json): boolean {
  const number = slowNumber(value);
  const limit = slowNumber(operand);
  const among = (list: Json[], item: Json) => list.some((other) => strict(other, item));
  switch (operator) {
    case 'plain':
      return loose(operand, value) || (Array.isArray(value) && value.some((item) => loose(operand, item)));
    case '$eq':
      return loose(operand, value);
    case '$neq':
      return !loose(operand, value);
    case '$gt':
      return number > limit;
    case '$gte':
      return number >= limit;
    case '$lt':
      return number < limit;
    case '$lte':
      return number <= limit;
    case '$in':
      if (!Array.isArray(operand)) return Array.isArray(value) && among(value, operand);
      return among(operand, value) || (Array.isArray(value) && value.some((item) => among(operand, item)));
    case '$nin':
      return !Array.isArray(operand) && !Array.isArray(value) ? false : !slowTest('$in', operand, value);
    case '$regex':
      return typeof value === 'string' && new RegExp(operand as string, 'u').test(value);
    case '$exist':
      return operand === true;
    default:
      throw new Error(`no such operator: ${operator}`);
  }
}

const slowAbsent = (operator: string, operand: Json) =>
  operator === '$neq' || operator === '$nin' || (operator === '$exist' && operand === false);

function slowCondition(path: string, tests: [string, Json][], payload: Json): boolean {
  const all = slowValues(payload, path);
  const values = path.includes('$') ? all : all.slice(0, 1);
  if (values.length === 0) return tests.every(([operator, operand]) => slowAbsent(operator, operand));
  return values.some((value) => tests.every(([operator, operand]) => slowTest(operator, operand, value)));
}

function slowMatch(filter: JsonObject, payload: Json, prefix: string[] = []): boolean {
  const entries = Object.entries(filter);
  const tests = entries.filter(([key]) => /^\$[a-z]/.test(key) && key !== '$or' && key !== '$and');
  const fieldsHold = entries.every(([key, wanted]) => {
    if (key === '$and') return (wanted as JsonObject[]).every((item) => slowMatch(item, payload, prefix));
    if (key === '$or') return (wanted as JsonObject[]).some((item) => slowMatch(item, payload, prefix));
    if (/^\$[a-z]/.test(key)) return true;
    const path = [...prefix, key];
    if (isObject(wanted) && Object.keys(wanted).length > 0) return slowMatch(wanted, payload, path);
    return slowCondition(path.join('.'), [['plain', wanted]], payload);
  });
  return fieldsHold && (tests.length === 0 || slowCondition(prefix.join('.'), tests, payload));
}

// Few names and few values, so that filters and payloads meet often.
const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', '$or', '0', 'a.b');
const scalar = fc.constantFrom<Json[]>(null, true, false, 0, 1, 2, '1', '1.0', '2', 'x', 'xy', '', 'abc');
const { payload } = fc.letrec<{ payload: Json; object: JsonObject; list: Json[] }>((tie) => ({
  payload: fc.oneof({ maxDepth: 4, depthSize: 'small' }, scalar, tie('object'), tie('list')),
  object: fc.dictionary(key, tie('payload'), { maxKeys: 4 }),
  list: fc.array(tie('payload'), { maxLength: 4 }),
}));
const operand = fc.oneof({ weight: 4, arbitrary: scalar }, fc.array(scalar, { maxLength: 3 }), payload);
const operators = fc
  .record(
    {
      $eq: operand,
      $neq: operand,
      $gt: scalar,
      $gte: scalar,
      $lt: scalar,
      $lte: scalar,
      $in: operand,
      $nin: operand,
      $regex: fc.constantFrom('', '^x', 'y$', 'b|z', '^[a-c]+$', '\\d'),
      $exist: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .map((all) => Object.fromEntries(Object.entries(all).slice(0, 2)))
  .filter((some) => Object.keys(some).length > 0);
const segment = fc.constantFrom('a', 'b', 'c', '$', '0', '__proto__', 'constructor');
const fieldName = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join('.'))
  .filter((name) => !name.endsWith('$'));
const { filter } = fc.letrec<{ filter: JsonObject; fields: JsonObject; group: JsonObject }>((tie) => ({
  filter: fc.oneof({ maxDepth: 3, depthSize: 'small' }, tie('fields'), tie('group')),
  fields: fc.dictionary(
    fieldName,
    fc.oneof(scalar, operators, fc.array(scalar, { maxLength: 2 }), tie('fields'), tie('group')),
    {
      maxKeys: 3,
    },
  ),
  group: fc
    .tuple(fc.constantFrom('$or', '$and'), fc.array(tie('filter'), { maxLength: 3 }), tie('fields'))
    .map(([operator, items, fields]) => ({ [operator]: items as Json, ...fields })),
}));

const RUNS = { numRuns: 1_500 };

function compiledOrSkip(candidate: JsonObject) {
  const result = compileFilter({ body: candidate });
  fc.pre(result.ok);
  return result.ok ? result.filter : undefined;
}

const subjectOf = (body: Json) => new FilterSubject({ body, headers: {}, query: '', path: '/' });

describe('for random filters and payloads', () => {
  test('the compiled filter agrees with a slow direct implementation, and both results occur', () => {
    let matched = 0;
    let refused = 0;
    fc.assert(
      fc.property(filter, payload, (candidate, body) => {
        const compiled = compiledOrSkip(candidate);
        const expected = slowMatch(candidate, body);
        if (expected) matched += 1;
        else refused += 1;
        expect(compiled?.matches(subjectOf(body))).toBe(expected);
      }),
      RUNS,
    );
    expect(Math.min(matched, refused)).toBeGreaterThan(150);
  });

  test('the explanation says matched exactly when the filter matches', () => {
    fc.assert(
      fc.property(filter, payload, (candidate, body) => {
        const compiled = compiledOrSkip(candidate);
        const explained = compiled && resultOf(compiled.explaining(subjectOf(body)));
        expect(explained?.matched).toBe(compiled?.matches(subjectOf(body)));
        if (explained?.matched === false) expect(explained.reason).toMatch(/\.$/);
      }),
      RUNS,
    );
  });

  test('the flattened and the unflattened form mean the same', () => {
    fc.assert(
      fc.property(filter, payload, (candidate, body) => {
        const expected = compiledOrSkip(candidate)?.matches(subjectOf(body));
        const flat = flatten(candidate);
        for (const form of [flat, unflatten(flat)]) {
          const result = compileFilter({ body: form });
          expect(result.ok && result.filter.matches(subjectOf(body))).toBe(expected);
        }
      }),
      RUNS,
    );
  });

  test('flattening is idempotent and undoes unflattening', () => {
    fc.assert(
      fc.property(filter, (candidate) => {
        compiledOrSkip(candidate);
        const flat = flatten(candidate);
        expect(flatten(flat)).toEqual(flat);
        expect(flatten(unflatten(flat))).toEqual(flat);
      }),
      RUNS,
    );
  });

  test('any JSON is compiled or refused without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (candidate, body) => {
        const result = compileFilter({ body: candidate });
        if (result.ok) expect(typeof result.filter.matches(subjectOf(body as Json))).toBe('boolean');
        else expect(result.path).toMatch(/^body/);
      }),
      RUNS,
    );
  });
});
