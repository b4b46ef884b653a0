import { findValue, someValue } from './field-path.ts';
import { type FieldCondition, type FilterNode, nodeHolds } from './filter-node.ts';
import type { FilterScope } from './filter-subject.ts';
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
  /** Undefined when the field is absent; behind wildcards the first values found. */
  readonly actual: unknown;
  /** One plain sentence. */
  readonly reason: string;
}

type Failure = Omit<Mismatch, 'matched' | 'scope'>;

const MAX_VALUES_SHOWN = 10;

/** Why a node that does not hold does not hold. */
export function explainNode(node: FilterNode, root: unknown, meter: WorkMeter): Failure {
  if (node.kind === 'field') return explainCondition(node, root, meter);
  if (node.kind === 'all') {
    const failed = node.nodes.find((child) => !nodeHolds(child, root, meter));
    if (failed === undefined) throw new Error('explained a filter node that holds');
    return explainNode(failed, root, meter);
  }
  return {
    path: node.path,
    operator: '$or',
    expected: node.expected,
    actual: undefined,
    reason: `None of the ${node.nodes.length} alternatives holds.`,
  };
}

function explainCondition(condition: FieldCondition, root: unknown, meter: WorkMeter): Failure {
  const { path, tests } = condition;
  const found = valuesFound(condition, root);
  const named =
    found.length === 0
      ? tests.find((test) => !test.holdsWhenAbsent)
      : tests.find((test) => !found.some((value) => test.holds(value, meter)));
  // Behind wildcards each test may hold for some element and no element pass them all.
  const failed = named ?? tests[0]!;
  return {
    path: path.text,
    operator: failed.operator,
    expected: failed.expected,
    actual: path.wildcards > 0 && found.length > 0 ? found : found[0],
    reason: reasonOf(failed, condition, found),
  };
}

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
  if (found.length === 0) return `There is no field "${path.text}".`;
  if (path.wildcards > 0) {
    const wanted = tests.map(({ operator }) => operator).join(' and ');
    return `No element's "${path.text}" satisfies ${wanted}.`;
  }
  return `The field "${path.text}" ${complaint(test, found[0])}.`;
}

function complaint({ operator, expected }: FieldTest, actual: unknown): string {
  switch (operator) {
    case '$eq':
      return Array.isArray(actual) ? 'is an array without the expected value' : 'has another value';
    case '$neq':
      return 'has the value it must not have';
    case '$in':
      return Array.isArray(expected) || Array.isArray(actual)
        ? 'holds none of the listed values'
        : 'is not an array, and $in with a single value looks into arrays';
    case '$nin':
      return Array.isArray(expected) || Array.isArray(actual)
        ? 'holds a value it must not have'
        : 'is not an array, and $nin with a single value looks into arrays';
    case '$regex':
      return typeof actual === 'string' ? 'does not match the pattern' : 'is not a string';
    case '$exist':
      return 'must not be there';
    default:
      return `is not a number that satisfies ${operator}`;
  }
}
