import { numberOf } from './equality.ts';
import { type FieldPath, findValue, someValue } from './field-path.ts';
import {
  type AllNode,
  type AnyNode,
  type FieldCondition,
  type FilterNode,
  nodeHolds,
} from './filter-node.ts';
import type { FilterScope } from './filter-subject.ts';
import { jsonStart } from './json-start.ts';
import type { FieldTest } from './operators.ts';
import type { WorkMeter } from './work-meter.ts';

export type Explanation = { matched: true } | Mismatch;

/** The first condition that failed, in the order the filter is written. */
export interface Mismatch {
  readonly matched: false;
  readonly scope: FilterScope;
  readonly path: string;
  readonly operator: string;
  readonly expected: unknown;
  /** Undefined when the field is absent. Behind wildcards, the first values found. */
  readonly actual: unknown;
  readonly reason: string;
}

type Failure = Omit<Mismatch, 'matched' | 'scope'>;

const MAX_VALUES_SHOWN = 10;
const MAX_SHOWN_CHARS = 80;
/** At most this many failing alternatives of an $or are explained. */
const MAX_ALTERNATIVES = 3;

/** Why a node does not hold. The node must not hold. */
export function explainNode(node: FilterNode, root: unknown, meter: WorkMeter): Failure {
  if (node.kind === 'field') return explainCondition(node, root, meter);
  if (node.kind === 'all') return explainNode(firstFailed(node, root, meter), root, meter);
  const reasons = node.nodes
    .slice(0, MAX_ALTERNATIVES)
    .map((child) => explainAlternative(child, root, meter).replace(/\.$/, ''));
  return {
    path: node.path,
    operator: '$or',
    expected: node.expected,
    actual: undefined,
    reason: noneHolds(node, reasons),
  };
}

/** The last one is not tried again: it fails if no other does. */
function firstFailed({ nodes }: AllNode, root: unknown, meter: WorkMeter): FilterNode {
  const failed = nodes.find((child, n) => n === nodes.length - 1 || !nodeHolds(child, root, meter));
  if (failed === undefined) throw new Error('explained a filter node that holds');
  return failed;
}

/** Nested alternatives are only counted, because the text would double with each level. */
function explainAlternative(node: FilterNode, root: unknown, meter: WorkMeter): string {
  if (node.kind === 'field') return explainCondition(node, root, meter).reason;
  if (node.kind === 'any') return `none of ${node.nodes.length} alternatives holds`;
  return explainAlternative(firstFailed(node, root, meter), root, meter);
}

function noneHolds({ nodes }: AnyNode, reasons: readonly string[]): string {
  if (nodes.length === 0) return '$or has no alternatives, so it never holds.';
  const more = nodes.length > reasons.length ? '; and more' : '';
  return `None of the ${nodes.length} alternatives holds: ${reasons.join('; ')}${more}.`;
}

function explainCondition(condition: FieldCondition, root: unknown, meter: WorkMeter): Failure {
  const { path, tests } = condition;
  const found = valuesFound(condition, root);
  const named =
    found.length === 0
      ? tests.find((test) => !test.holdsWhenAbsent)
      : tests.find((test, n) => isLastOf(tests, n, path) || !found.some((value) => test.holds(value, meter)));
  // Behind wildcards each test may hold for some element while no element passes them all.
  const failed = named ?? tests[0]!;
  return {
    path: path.text,
    operator: failed.operator,
    expected: failed.expected,
    actual: path.wildcards > 0 && found.length > 0 ? found : found[0],
    reason: reasonOf(failed, condition, found),
  };
}

/** A value that passes all the other tests fails the last one, which may read much of it. */
const isLastOf = (tests: readonly FieldTest[], n: number, { wildcards }: FieldPath): boolean =>
  wildcards === 0 && n === tests.length - 1;

function valuesFound({ path }: FieldCondition, root: unknown): unknown[] {
  if (path.wildcards === 0) {
    const value = findValue(root, path);
    return value === undefined ? [] : [value];
  }
  const found: unknown[] = [];
  someValue(root, path, {
    accept(value) {
      found.push(value);
      return found.length === MAX_VALUES_SHOWN;
    },
    mayContinue: () => true,
  });
  return found;
}

function reasonOf(test: FieldTest, { path, tests }: FieldCondition, found: readonly unknown[]): string {
  if (found.length === 0) return `There is no field ${path.text}.`;
  if (path.wildcards > 0) {
    const wanted = tests.map(({ operator, expected }) => `${operator} ${shown(expected)}`).join(' and ');
    return `No element's ${path.text} satisfies ${wanted}; found ${found.map(shown).join(', ')}.`;
  }
  return `${path.text} is ${shown(found[0])}, ${complaint(test, found[0])}.`;
}

const comparisons: Readonly<Record<string, string>> = {
  $gt: 'greater than',
  $gte: 'at least',
  $lt: 'less than',
  $lte: 'at most',
};

/** The reason why a value fails. It is printed after the value. */
function complaint({ operator, expected }: FieldTest, actual: unknown): string {
  const wanted = shown(expected);
  const isList = Array.isArray(actual);
  switch (operator) {
    case '$eq':
      return isList && !Array.isArray(expected) ? `which does not hold ${wanted}` : `not ${wanted}`;
    case '$neq':
      return 'which it must not be';
    case '$in':
      if (Array.isArray(expected)) return isList ? `which holds none of ${wanted}` : `not one of ${wanted}`;
      return isList ? `which does not hold ${wanted}` : notAList('$in');
    case '$nin':
      if (Array.isArray(expected)) return isList ? `which holds one of ${wanted}` : `one of ${wanted}`;
      return isList ? `which holds ${wanted}` : notAList('$nin');
    case '$regex':
      return typeof actual === 'string' ? `which does not match ${wanted}` : `not a text to match ${wanted}`;
    case '$exist':
      return 'and must not be there';
    default:
      return notComparable(comparisons[operator] ?? operator, expected, actual);
  }
}

const notAList = (operator: string) => `not a list, and ${operator} with a single value looks into lists`;

function notComparable(words: string, expected: unknown, actual: unknown): string {
  const wanted = shown(expected);
  if (numberOf(expected) === undefined) return `and no number is ${words} ${wanted}`;
  return numberOf(actual) === undefined ? `not a number ${words} ${wanted}` : `not ${words} ${wanted}`;
}

function shown(value: unknown): string {
  const text = jsonStart(value, MAX_SHOWN_CHARS);
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}
