import { compileRegex } from '../matcher/bounded-regex.ts';
import { isObject } from '../platform/json/is-object.ts';
import { canonical, SchemaRun } from './schema-run.ts';

/** Checks a value at a place. True: it is as described. */
export type Rule = (value: unknown, at: string, run: SchemaRun) => boolean;

export type Json = Record<string, unknown>;

/** The schema cannot be used for checks. */
export class UnusableSchema extends Error {}

/** The rules without schemas inside them: types, fixed values, numbers, texts and counts. */
export function plainRules(schema: Json): Rule[] {
  return [
    typeRule(schema),
    ...fixedRules(schema),
    ...numberRules(schema),
    ...textRules(schema),
    ...countRules(schema),
  ].filter((rule) => rule !== null);
}

const MAX_TYPES = 20;
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: (value) => Array.isArray(value),
  object: isObject,
};

/** The texts of a list, each once. A check reads the whole list, so that it is limited. */
export function textsOf(list: unknown, { of, most }: { of: string; most: number }): string[] {
  if (!Array.isArray(list)) return [];
  const texts = [...new Set(list.filter((one) => typeof one === 'string'))];
  if (texts.length > most) throw new UnusableSchema(`${of} has more than ${most} names`);
  return texts;
}

function typeRule({ type, nullable }: Json): Rule | null {
  const names = textsOf([type ?? []].flat(), { of: 'type', most: MAX_TYPES });
  if (names.length === 0) return null;
  const tests = names.map((name) => TYPES[name] ?? (() => false));
  return (value, at, run) =>
    (nullable === true && value === null) ||
    tests.some((test) => test(value)) ||
    run.fail(at, `must be ${names.join(' or ')}`);
}

function fixedRules(schema: Json): Rule[] {
  const allowed = [
    ...(Array.isArray(schema['enum']) ? [schema['enum'] as unknown[]] : []),
    ...('const' in schema ? [[schema['const']]] : []),
  ];
  return allowed.map((values) => {
    const writing = new SchemaRun();
    const texts = new Set(values.map((value) => canonical(value, writing)));
    if (texts.has(null)) throw new UnusableSchema('a value of enum or const is too large');
    return (value, at, run) => {
      const text = canonical(value, run);
      return text === null || texts.has(text) || run.fail(at, 'is not one of the allowed values');
    };
  });
}

type Limit<T> = [test: (value: T, limit: number) => boolean, problem: (limit: number) => string];

const NUMBERS: Readonly<Record<string, Limit<number>>> = {
  minimum: [(value, limit) => value >= limit, (limit) => `must be at least ${limit}`],
  maximum: [(value, limit) => value <= limit, (limit) => `must be at most ${limit}`],
  exclusiveMinimum: [(value, limit) => value > limit, (limit) => `must be more than ${limit}`],
  exclusiveMaximum: [(value, limit) => value < limit, (limit) => `must be less than ${limit}`],
  multipleOf: [
    (value, limit) => Number.isInteger(value / limit),
    (limit) => `must be a multiple of ${limit}`,
  ],
};
const LENGTHS: Readonly<Record<string, Limit<number>>> = {
  minLength: [(length, limit) => length >= limit, (limit) => `must have at least ${limit} characters`],
  maxLength: [(length, limit) => length <= limit, (limit) => `must have at most ${limit} characters`],
};
const ITEMS: Readonly<Record<string, Limit<number>>> = {
  minItems: [(count, limit) => count >= limit, (limit) => `must have at least ${limit} items`],
  maxItems: [(count, limit) => count <= limit, (limit) => `must have at most ${limit} items`],
};
const PROPERTIES: Readonly<Record<string, Limit<number>>> = {
  minProperties: [(count, limit) => count >= limit, (limit) => `must have at least ${limit} fields`],
  maxProperties: [(count, limit) => count <= limit, (limit) => `must have at most ${limit} fields`],
};

/** `measure`: null where the limits do not apply. */
function limits(
  schema: Json,
  table: Readonly<Record<string, Limit<number>>>,
  measure: (value: unknown, run: SchemaRun) => number | null,
): Rule[] {
  return Object.entries(table).flatMap(([name, [test, problem]]) => {
    const limit = schema[name];
    if (typeof limit !== 'number') return [];
    return [
      (value: unknown, at: string, run: SchemaRun) => {
        const size = measure(value, run);
        return size === null || test(size, limit) || run.fail(at, problem(limit));
      },
    ];
  });
}

const numberRules = (schema: Json): Rule[] =>
  limits(schema, NUMBERS, (value) => (typeof value === 'number' ? value : null));

function textRules(schema: Json): Rule[] {
  const lengths = limits(schema, LENGTHS, (value, run) =>
    typeof value === 'string' && run.pay(value.length) ? Array.from(value).length : null,
  );
  const { pattern } = schema;
  if (typeof pattern !== 'string') return lengths;
  const search = searchOf(pattern);
  return [
    ...lengths,
    (value, at, run) =>
      typeof value !== 'string' || search(value, run) || run.fail(at, 'does not match its pattern'),
  ];
}

/** Patterns run in linear time, and pay for it. */
export function searchOf(pattern: string): (text: string, run: SchemaRun) => boolean {
  const compiled = compileRegex(pattern);
  if (!compiled.ok) throw new UnusableSchema(`${compiled.message}: ${pattern.slice(0, 100)}`);
  return (text, run) => run.search(compiled.regex, text);
}

function countRules(schema: Json): Rule[] {
  const unique: Rule = (value, at, run) => {
    if (!Array.isArray(value)) return true;
    const texts = run.keep(
      () => new Set<string | null>(),
      (found) => {
        run.all(value, (item) => found.add(canonical(item, run)) !== undefined);
        return found;
      },
    );
    return texts.has(null) || texts.size === value.length || run.fail(at, 'has an item twice');
  };
  return [
    ...limits(schema, ITEMS, (value) => (Array.isArray(value) ? value.length : null)),
    ...limits(schema, PROPERTIES, (value, run) => {
      if (!isObject(value)) return null;
      const count = Object.keys(value).length;
      return run.spend(count) ? count : null;
    }),
    ...(schema['uniqueItems'] === true ? [unique] : []),
  ];
}
