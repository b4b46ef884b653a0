import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { resultOf, WorkMeter } from '../matcher/work-meter.ts';
import { type CompiledSchema, compileSchema } from './compile-schema.ts';

type Json = Record<string, unknown>;

const compiled = (schema: Json) => {
  const result = compileSchema(schema);
  if (typeof result === 'string') throw new Error(result);
  return { check: (value: unknown, meter?: WorkMeter) => resultOf(result.check(value, meter)) };
};

/** As above, in the smallest slices. Each loop pauses once at least. */
const checkInSlices = (schema: Json, value: unknown) => {
  const result = compileSchema(schema);
  return typeof result === 'string' ? null : resultOf(result.check(value, new WorkMeter(), 1));
};

const problems = (schema: Json, value: unknown) =>
  compiled(schema)
    .check(value)
    ?.map(({ field, problem }) => `${field} ${problem}`);

const tree = { type: 'object', properties: { v: { type: 'integer' }, next: { $ref: '#' } }, required: ['v'] };

/** Each schema is tried with each value, and must judge as Ajv does. */
const SCHEMAS: Json[] = [
  {},
  { type: 'object' },
  { type: ['integer', 'null'] },
  { type: 'string', nullable: true },
  { type: 'number', minimum: 1, maximum: 5 },
  { exclusiveMinimum: 1, exclusiveMaximum: 5 },
  { multipleOf: 0.5 },
  { multipleOf: 3 },
  { minLength: 2, maxLength: 3 },
  { pattern: '^a+$' },
  { pattern: 'ü' },
  { enum: [1, 'a', null, { a: [1, { b: 2 }] }] },
  { const: { a: [1, { b: 2 }] } },
  { const: null },
  { items: { type: 'integer' } },
  { prefixItems: [{ type: 'integer' }, { type: 'string' }], items: false },
  { items: { type: 'integer' }, minItems: 1, maxItems: 2 },
  { uniqueItems: true },
  { contains: { type: 'string' } },
  { contains: { type: 'integer' }, minContains: 2, maxContains: 3 },
  { contains: { type: 'string' }, minContains: 0 },
  { properties: { a: { type: 'integer' } }, required: ['a'] },
  { properties: { a: true }, additionalProperties: false },
  { properties: { a: { type: 'array' } }, additionalProperties: { type: 'integer' } },
  { patternProperties: { '^x': { type: 'integer' } }, additionalProperties: false },
  { propertyNames: { maxLength: 1 } },
  { minProperties: 1, maxProperties: 1 },
  { dependentRequired: { a: ['b'] } },
  { dependentSchemas: { a: { required: ['v'] } } },
  { allOf: [{ type: 'object' }, { required: ['a'] }] },
  { anyOf: [{ type: 'string' }, { type: 'integer', minimum: 3 }] },
  { oneOf: [{ type: 'integer' }, { minimum: 3 }] },
  { not: { type: 'string' } },
  // As text, because an object with `then` would be awaited as a promise.
  JSON.parse('{"if": {"type": "integer"}, "then": {"minimum": 3}, "else": {"type": "object"}}'),
  JSON.parse('{"if": {"type": "string"}, "then": false}'),
  tree,
  { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'integer' } } },
  { $ref: '#/$defs/x%20y', $defs: { 'x y': { type: 'string' } } },
  { $ref: '#/$defs/n', minimum: 3, $defs: { n: { type: 'integer' } } },
  { properties: { a: false } },
];
const VALUES = JSON.parse(`[
  null, true, 0, 1, 2.5, 3, 5, 6, -1, "", "a", "aa", "ab", "ü", "👍👍", "aaaa",
  [], [1], [1, "a"], [1, "a", 2], ["a"], [1, 2, 3, 4], [1, 1], [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
  {}, {"a": 1}, {"a": "x"}, {"a": []}, {"a": [1, {"b": 2}]}, {"x1": 1}, {"x1": "a"}, {"a": 1, "b": 2},
  {"v": 1}, {"v": 1, "next": {"v": 2}}, {"v": 1, "next": {"v": "x"}}, {"v": 1, "next": {"next": {"v": 1}}},
  {"a": 1, "v": 2}, {"long": 1}, {"__proto__": 1}, {"constructor": 1}
]`) as unknown[];

describe('a compiled schema', () => {
  it.each(SCHEMAS.map((schema) => [JSON.stringify(schema), schema]))(
    'judges as Ajv does: %s',
    (_, schema) => {
      const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema as Json);
      const { check } = compiled(schema as Json);
      for (const value of VALUES) {
        expect([value, check(value)?.length === 0]).toEqual([value, validate(value)]);
        expect([value, checkInSlices(schema as Json, value)]).toEqual([value, check(value)]);
      }
    },
  );

  it.each([
    { items: [{ type: 'integer' }, { type: 'string' }], additionalItems: false },
    { dependencies: { a: ['b'], v: { required: ['next'] } } },
  ])('judges draft 7 as Ajv does: %j', (part) => {
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...part };
    const validate = new Ajv({ strict: false }).compile(schema);
    for (const value of VALUES) {
      expect([value, compiled(schema).check(value)?.length === 0]).toEqual([value, validate(value)]);
      expect([value, checkInSlices(schema, value)]).toEqual([value, compiled(schema).check(value)]);
    }
  });

  it('differs from Ajv where the standard does', () => {
    expect(problems({ required: ['__proto__'] }, {})).toEqual(['data.__proto__ is required']);
    // In draft 7 a reference stands alone.
    const $schema = 'http://json-schema.org/draft-07/schema#';
    const definitions = { n: { type: 'integer' } };
    expect(problems({ $schema, $ref: '#/definitions/n', minimum: 3, definitions }, 1)).toEqual([]);
  });

  it('names the fields, a few of them', () => {
    const schema = {
      type: 'object',
      required: ['id'],
      properties: { lines: { items: { properties: { sku: { minLength: 3 } } } } },
      additionalProperties: false,
    };
    expect(problems(schema, { lines: [{ sku: 'abc' }, { sku: 'x' }], 'odd name': 1 })).toEqual([
      'data.id is required',
      'data.lines[1].sku must have at least 3 characters',
      'data.odd name is not allowed',
    ]);
    expect(problems({ items: { type: 'string' } }, Array(50).fill(1))).toHaveLength(5);
    expect(problems({ type: 'object' }, 7)).toEqual(['data must be object']);
  });

  it.each([
    [{ $ref: 'https://example.com/schema.json' }, 'does not stay within the schema'],
    [{ properties: { a: { $ref: 'other.json#/a' } } }, 'does not stay within the schema'],
    [{ $ref: '#name' }, 'does not stay within the schema'],
    [{ $ref: '#/$defs/none' }, 'leads nowhere'],
    [{ $ref: '#/__proto__' }, 'leads nowhere'],
    [{ pattern: '(a)\\1' }, 'not valid RE2'],
    [{ pattern: '(?=a)' }, 'not valid RE2'],
    [{ patternProperties: { '(a{1000}){1000}': {} } }, 'RE2'],
    [{ unevaluatedProperties: false }, 'unevaluatedProperties is not supported'],
    [{ $dynamicRef: '#a' }, '$dynamicRef is not supported'],
    [{ properties: { a: { $id: 'https://example.com/a' } } }, 'an $id inside'],
    [{ allOf: Array.from({ length: 10_001 }, () => ({})) }, 'more than 10000 parts'],
    [{ anyOf: Array(10_001).fill(true) }, 'more than 10000 parts'],
    [{ required: Array.from({ length: 1_001 }, (_, n) => `f${n}`) }, 'required has more than 1000 names'],
    [{ type: Array.from({ length: 21 }, (_, n) => `t${n}`) }, 'type has more than 20 names'],
  ])('refuses %j', (schema, reason) => {
    expect(compileSchema(schema)).toContain(reason);
  });
});

describe('the work of a check is bounded', () => {
  it('of a schema that refers to itself without end', () => {
    expect(compiled({ $ref: '#' }).check(1)).toBeNull();
    expect(compiled({ anyOf: [{ $ref: '#' }, { $ref: '#' }] }).check(1)).toBeNull();
  });

  it('of alternatives that double at each level of the value', () => {
    const schema = {
      anyOf: [{ properties: { n: { $ref: '#' } }, required: ['x'] }, { properties: { n: { $ref: '#' } } }],
    };
    let value: unknown = {};
    for (let n = 0; n < 60; n += 1) value = { n: value };
    expect(compiled(schema).check(value)).toBeNull();
  });

  it('of hostile patterns, large lists and deep values', () => {
    expect(
      compiled({ items: { pattern: '(a|a)*(b|b)*c$' } }).check(Array(500).fill('a'.repeat(20_000))),
    ).toBeNull();
    const rows = Array.from({ length: 200_000 }, (_, n) => ({ n, more: [n, n] }));
    expect(compiled({ uniqueItems: true }).check(rows)).toBeNull();
    let deep: unknown = [];
    for (let n = 0; n < 10_000; n += 1) deep = [deep];
    expect(compiled({ items: { $ref: '#' } }).check(deep)).toBeNull();
    expect(compiled({ const: 1 }).check(deep)).toBeNull();
  });

  /** The work that one check takes from its meter. */
  const stepsOf = (schema: Json, value: unknown) => {
    const meter = new WorkMeter();
    compiled(schema).check(value, meter);
    return meter.used;
  };

  it.each([
    ['required', { required: Array.from({ length: 900 }, (_, n) => `f${n}`) }, {}],
    ['maxProperties', { maxProperties: 1_000 }, Object.fromEntries(Array(900).fill(0).entries())],
    ['prefixItems', { prefixItems: [true] }, Array(900).fill(0)],
    ['contains', { contains: true }, Array(900).fill(0)],
    ['anyOf', { anyOf: Array(900).fill(true) }, 1],
    ['oneOf', { oneOf: Array(900).fill(true) }, 1],
    ['allOf', { allOf: Array(900).fill(true) }, 1],
  ])('by the length of each list that it reads: %s', (name, schema, value) => {
    const given = schema as Json;
    const without = Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));
    expect(stepsOf(given, value) - stepsOf(without, value)).toBeGreaterThanOrEqual(900);
  });

  it('names in a list count once', () => {
    expect(problems({ required: Array(5_000).fill('a'), type: Array(50).fill('string') }, {})).toEqual([
      'data must be string',
      'data.a is required',
    ]);
  });

  it.each([
    ['a list', { items: { type: 'integer' } }, Array(100_000).fill(1)],
    ['lists in a list', { items: { items: { type: 'integer' } } }, Array(100).fill(Array(1_000).fill(1))],
    ['alternatives', { items: { anyOf: [{ const: 1 }, { const: 2 }] } }, Array(50_000).fill(2)],
    ['what is excluded', { not: { items: { type: 'string' } } }, Array(100_000).fill('a')],
    [
      'fields',
      { additionalProperties: { type: 'integer' } },
      Object.fromEntries(Array(50_000).fill(0).entries()),
    ],
    ['a condition', { if: { items: { type: 'integer' } }, else: false }, Array(100_000).fill(1)],
    ['items that differ', { uniqueItems: true }, Array.from({ length: 100_000 }, (_, n) => n)],
  ])('and is done in slices, with the same steps: %s', (_, schema, value) => {
    const whole = new WorkMeter();
    const sliced = new WorkMeter();
    const result = compileSchema(schema) as CompiledSchema;
    const problems = resultOf(result.check(value, whole, Number.POSITIVE_INFINITY));
    let slices = 1;
    const work = result.check(value, sliced);
    let step = work.next();
    for (; step.done !== true; step = work.next()) slices += 1;
    expect(step.value).toEqual(problems);
    expect(sliced.used).toBe(whole.used);
    expect(slices).toBeGreaterThan(whole.used / 60_000);
  });

  it('leaves an ordinary payload of a megabyte its check', () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => ({ sku: `item-${n}`, count: n, price: '12.50' }));
    const row = {
      type: 'object',
      required: ['sku', 'count'],
      properties: { sku: { type: 'string', pattern: '^item-\\d+$' }, count: { type: 'integer' } },
    };
    expect(compiled({ properties: { rows: { type: 'array', items: row } } }).check({ rows })).toEqual([]);
  });
});
