import { numberOf } from './equality.ts';
import type { FilterScopes } from './filter.ts';
import type { FieldCondition, FilterNode } from './filter-node.ts';
import { isJsonObject } from './json-values.ts';
import type { FieldTest } from './operators.ts';
import { parseFilter } from './parse-filter.ts';

/** Conditions that no event can meet. Each is legal, but certainly a mistake. */
export function neverMatches(scopes: FilterScopes): string[] {
  return (['body', 'headers', 'query', 'path'] as const).flatMap((scope) => {
    const filter = scopes[scope];
    if (!isJsonObject(filter)) return [];
    const parsed = parseFilter(scope, filter);
    return parsed.ok ? inNode(parsed.node).map((problem) => `${scope}.${problem}, so it never matches`) : [];
  });
}

function inNode(node: FilterNode): string[] {
  if (node.kind === 'field') return inCondition(node);
  const own = node.kind === 'any' && node.nodes.length === 0 ? [`${node.path}: has no alternatives`] : [];
  return [...own, ...node.nodes.flatMap(inNode)];
}

function inCondition({ path, tests }: FieldCondition): string[] {
  const single = tests.flatMap((test) => {
    const problem = ofTest(test);
    return problem === null ? [] : [`${path.text}.${test.operator}: ${problem}`];
  });
  if (single.length > 0 || !isEmptyRange(tests)) return single;
  const wanted = tests
    .map(({ operator, expected }) => `${operator} ${JSON.stringify(expected)}`)
    .join(' and ');
  return [`${path.text}: no number satisfies ${wanted}`];
}

const BOUNDS: ReadonlySet<string> = new Set(['$gt', '$gte', '$lt', '$lte']);

function ofTest({ operator, expected }: FieldTest): string | null {
  if (BOUNDS.has(operator) && numberOf(expected) === undefined)
    return `${JSON.stringify(expected)} is not a number`;
  if (operator === '$in' && Array.isArray(expected) && expected.length === 0) return 'the list is empty';
  return null;
}

function isEmptyRange(tests: readonly FieldTest[]): boolean {
  const bound = (...operators: string[]) =>
    tests.flatMap(({ operator, expected }) =>
      operators.includes(operator) ? [{ at: numberOf(expected) ?? 0, isOpen: operator.length === 3 }] : [],
    );
  return bound('$gt', '$gte').some((low) =>
    bound('$lt', '$lte').some(
      (high) => low.at > high.at || (low.at === high.at && (low.isOpen || high.isOpen)),
    ),
  );
}
