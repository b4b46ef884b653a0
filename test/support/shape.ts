/**
 * Checks the structure of a response: names, types, nulls and arrays, not values. A check returns the
 * problems, each with its path. A field named by `fields` is required, others are allowed.
 */
export type Check = (value: unknown, path: string) => string[];

const is =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value, path) =>
    holds(value) ? [] : [`${path} is ${JSON.stringify(value) ?? 'absent'}, not ${what}`];

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = is('a string', (value) => typeof value === 'string');
export const integer = is('an integer', Number.isInteger);
export const boolean = is('a boolean', (value) => typeof value === 'boolean');
export const object = is('an object', isObject);
export const nothing = is('null', (value) => value === null);
export const time = is('a time in UTC', (value) => typeof value === 'string' && TIME.test(value));
export const id = is('an id', (value) => typeof value === 'string' && /^[0-9A-HJKMNP-TV-Z]{26}$/.test(value));
export const oneOf = (...values: string[]): Check =>
  is(`one of ${values.join(', ')}`, (value) => values.includes(value as string));

export const nullable =
  (check: Check): Check =>
  (value, path) =>
    value === null ? [] : check(value, path);

export const listOf =
  (check: Check): Check =>
  (value, path) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => check(item, `${path}[${index}]`))
      : [`${path} is ${JSON.stringify(value)}, not an array`];

export const mapOf =
  (check: Check): Check =>
  (value, path) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, item]) => check(item, `${path}.${name}`))
      : [`${path} is ${JSON.stringify(value)}, not an object`];

export const fields =
  (checks: Record<string, Check>): Check =>
  (value, path) =>
    isObject(value)
      ? Object.entries(checks).flatMap(([name, check]) => check(value[name], `${path}.${name}`))
      : [`${path} is ${JSON.stringify(value)}, not an object`];

/** A field that is omitted when empty. */
export const absentOr =
  (check: Check): Check =>
  (value, path) =>
    value === undefined ? [] : check(value, path);
