import { ABSENT, type FieldPath, findValue, someValue } from './field-path.ts';
import type { FieldTest } from './operators.ts';
import type { WorkMeter } from './work-meter.ts';

/** A parsed filter. The parser bounds its depth, so recursion over it is safe. */
export type FilterNode = AllNode | AnyNode | FieldCondition;

export interface AllNode {
  readonly kind: 'all';
  readonly nodes: readonly FilterNode[];
}

export interface AnyNode {
  readonly kind: 'any';
  readonly path: string;
  readonly expected: unknown;
  readonly nodes: readonly FilterNode[];
}

export interface FieldCondition {
  readonly kind: 'field';
  readonly path: FieldPath;
  readonly tests: readonly FieldTest[];
}

export function nodeHolds(node: FilterNode, root: unknown, meter: WorkMeter): boolean {
  if (node.kind === 'all') return node.nodes.every((child) => nodeHolds(child, root, meter));
  if (node.kind === 'any') return node.nodes.some((child) => nodeHolds(child, root, meter));
  // A negated test may hold only because the steps ran out, so an exhausted meter overrules it.
  return meter.spend(1) && conditionHolds(node, root, meter) && !meter.exhausted;
}

function conditionHolds(condition: FieldCondition, root: unknown, meter: WorkMeter): boolean {
  const { path, tests } = condition;
  if (path.wildcards > 0) return someElementHolds(condition, root, meter);
  const value = findValue(root, path);
  return value === ABSENT ? holdsAbsent(tests) : allHold(tests, value, meter);
}

/** One element must pass all the tests of a condition. Different conditions may be met by different elements. */
function someElementHolds(condition: FieldCondition, root: unknown, meter: WorkMeter): boolean {
  let found = false;
  const accepted = someValue(root, condition.path, {
    accept(value) {
      found = true;
      return allHold(condition.tests, value, meter);
    },
    mayContinue: () => meter.spend(1),
  });
  return accepted || (!found && holdsAbsent(condition.tests));
}

function allHold(tests: readonly FieldTest[], value: unknown, meter: WorkMeter): boolean {
  return tests.every((test) => test.holds(value, meter));
}

function holdsAbsent(tests: readonly FieldTest[]): boolean {
  return tests.every((test) => test.holdsWhenAbsent);
}
