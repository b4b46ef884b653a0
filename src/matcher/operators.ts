import { compileRegex } from './bounded-regex.ts';
import { deeplyEqual, looselyEqualTo, numberOf, readNumber } from './equality.ts';
import { WILDCARD } from './field-path.ts';
import { someItem, type WorkMeter } from './work-meter.ts';

/** A condition on the value of one field. A type mismatch means "does not hold", never an error. */
export interface FieldTest {
  readonly operator: string;
  readonly expected: unknown;
  readonly holdsWhenAbsent: boolean;
  holds(actual: unknown, meter: WorkMeter): boolean;
}

export type OperatorResult = { ok: true; test: FieldTest } | { ok: false; message: string };
type OperatorCompiler = (expected: unknown) => OperatorResult;
type Holds = FieldTest['holds'];

const compilers: Readonly<Record<string, OperatorCompiler>> = {
  $eq: (expected) => accepted('$eq', expected, looselyEqualTo(expected)),
  $neq: compileNotEqual,
  $gt: (expected) => comparison('$gt', expected, (actual, limit) => actual > limit),
  $gte: (expected) => comparison('$gte', expected, (actual, limit) => actual >= limit),
  $lt: (expected) => comparison('$lt', expected, (actual, limit) => actual < limit),
  $lte: (expected) => comparison('$lte', expected, (actual, limit) => actual <= limit),
  $in: (expected) => {
    const member = membership(expected);
    return accepted('$in', expected, (actual, meter) => member(actual, meter) === true);
  },
  $nin: (expected) => {
    const member = membership(expected);
    const holds: Holds = (actual, meter) => member(actual, meter) === false;
    return { ok: true, test: { operator: '$nin', expected, holdsWhenAbsent: true, holds } };
  },
  $regex: compilePattern,
  $exist: compileExistence,
};

export const GROUP_OPERATORS: ReadonlySet<string> = new Set(['$or', '$and']);

/** Whether a filter key must be an operator. Any other `$` is a wildcard segment. */
export function looksLikeOperator(key: string): boolean {
  return key.startsWith('$') && key !== WILDCARD && !key.startsWith(`${WILDCARD}.`);
}

/** The compiler of an operator that tests a field, or undefined if there is no such operator. */
export function fieldOperator(name: string): OperatorCompiler | undefined {
  return Object.hasOwn(compilers, name) ? compilers[name] : undefined;
}

/** A value without operator: equal to the field, or to one of its elements if the field is an array. */
export function plainTest(expected: unknown): FieldTest {
  const equal = looselyEqualTo(expected);
  const holds: Holds = (actual, meter) => {
    if (equal(actual, meter)) return true;
    return Array.isArray(actual) && someItem(actual, meter, (item) => equal(item, meter));
  };
  return { operator: '$eq', expected, holdsWhenAbsent: false, holds };
}

function accepted(operator: string, expected: unknown, holds: Holds): OperatorResult {
  return { ok: true, test: { operator, expected, holdsWhenAbsent: false, holds } };
}

function compileNotEqual(expected: unknown): OperatorResult {
  const equal = looselyEqualTo(expected);
  const holds: Holds = (actual, meter) => !equal(actual, meter);
  return { ok: true, test: { operator: '$neq', expected, holdsWhenAbsent: true, holds } };
}

function comparison(
  operator: string,
  expected: unknown,
  compare: (actual: number, limit: number) => boolean,
): OperatorResult {
  const limit = numberOf(expected);
  return accepted(operator, expected, (actual, meter) => {
    const number = readNumber(actual, meter);
    return limit !== undefined && number !== undefined && compare(number, limit);
  });
}

type Membership = (actual: unknown, meter: WorkMeter) => boolean | 'clash';

/**
 * A list matches a field that is one of its items, or an array that shares an item with it. A single value
 * matches an array that contains it. Items are compared strictly: 1 is not "1".
 */
function membership(expected: unknown): Membership {
  const items: readonly unknown[] = Array.isArray(expected) ? expected : [expected];
  const scalars = new Set(items.filter((item) => typeof item !== 'object' || item === null));
  const complex = items.filter((item) => typeof item === 'object' && item !== null);
  const listed = (value: unknown, meter: WorkMeter): boolean =>
    scalars.has(value) || complex.some((item) => deeplyEqual(item, value, meter));
  const sharesItem = (actual: readonly unknown[], meter: WorkMeter): boolean =>
    someItem(actual, meter, (item) => listed(item, meter));
  if (!Array.isArray(expected)) {
    return (actual, meter) => (Array.isArray(actual) ? sharesItem(actual, meter) : 'clash');
  }
  return (actual, meter) => listed(actual, meter) || (Array.isArray(actual) && sharesItem(actual, meter));
}

function compilePattern(expected: unknown): OperatorResult {
  if (typeof expected !== 'string') return { ok: false, message: 'the pattern must be a string' };
  const compiled = compileRegex(expected);
  if (!compiled.ok) return compiled;
  const { regex } = compiled;
  return accepted(
    '$regex',
    expected,
    (actual, meter) => typeof actual === 'string' && regex.search(actual, meter),
  );
}

function compileExistence(expected: unknown): OperatorResult {
  if (typeof expected !== 'boolean') return { ok: false, message: 'the value must be true or false' };
  const holds: Holds = () => expected;
  return { ok: true, test: { operator: '$exist', expected, holdsWhenAbsent: !expected, holds } };
}
