import { WILDCARD } from './field-path.ts';
import { isJsonObject, isNestedList, type JsonObject } from './json-values.ts';
import { GROUP_OPERATORS, looksLikeOperator } from './operators.ts';

/**
 * The dotted form of a filter that `compileFilter` accepts (which bounds its depth). `{a: {b: 1}}` becomes
 * `{'a.b': 1}`. Operators stay an object under their path. Items of `$or` and `$and` are flattened one by
 * one. Both forms compile to the same filter.
 */
export function flatten(filter: JsonObject): JsonObject {
  const fields = new Map<string, unknown>();
  const operators = collectFields(filter, '', fields);
  // fromEntries defines own properties, so a field named __proto__ survives.
  return Object.fromEntries([...operators, ...fields]);
}

/** Adds the fields below `filter` under their dotted names and returns its own operators. */
function collectFields(
  filter: JsonObject,
  prefix: string,
  fields: Map<string, unknown>,
): [string, unknown][] {
  const operators: [string, unknown][] = [];
  for (const [key, value] of Object.entries(filter)) {
    if (looksLikeOperator(key)) operators.push([key, flattenOperand(key, value)]);
    else collectValue(value, prefix + key, fields);
  }
  return operators;
}

function collectValue(value: unknown, name: string, fields: Map<string, unknown>): void {
  if (isNestedList(value)) {
    for (const [index, item] of value.entries()) collectValue(item, `${name}.${index}`, fields);
  } else if (isJsonObject(value) && Object.keys(value).length > 0) {
    const operators = collectFields(value, `${name}.`, fields);
    if (operators.length > 0) fields.set(name, Object.fromEntries(operators));
  } else {
    fields.set(name, value);
  }
}

function flattenOperand(operator: string, operand: unknown): unknown {
  if (!GROUP_OPERATORS.has(operator) || !Array.isArray(operand)) return operand;
  return operand.map((item: unknown) => (isJsonObject(item) ? flatten(item) : item));
}

/**
 * The nested form of a flattened filter, so that `flatten(unflatten(flat))` is `flat` again. A name stays
 * dotted where nesting would change the meaning: behind wildcards, and below a field that has a value of its
 * own.
 */
export function unflatten(flat: JsonObject): JsonObject {
  const root: Branch = new Map();
  for (const [name, value] of Object.entries(flat)) {
    const segments = name.split('.');
    const dotted = looksLikeOperator(name) || segments.includes(WILDCARD) || hasValueAbove(flat, segments);
    place(root, dotted ? [name] : segments, unflattenValue(name, value));
  }
  return objectOf(root);
}

type Branch = Map<string, Branch | { value: unknown }>;

function hasValueAbove(flat: JsonObject, segments: readonly string[]): boolean {
  return segments.some((_, at) => at > 0 && Object.hasOwn(flat, segments.slice(0, at).join('.')));
}

function place(root: Branch, segments: readonly string[], value: unknown): void {
  let branch = root;
  for (const segment of segments.slice(0, -1)) {
    const next = branch.get(segment);
    const below: Branch = next instanceof Map ? next : new Map();
    branch.set(segment, below);
    branch = below;
  }
  branch.set(segments.at(-1) ?? '', { value });
}

function objectOf(branch: Branch): JsonObject {
  const entries = [...branch].map(([key, below]): [string, unknown] => [
    key,
    below instanceof Map ? objectOf(below) : below.value,
  ]);
  return Object.fromEntries(entries);
}

function unflattenValue(name: string, value: unknown): unknown {
  if (GROUP_OPERATORS.has(name)) return unflattenItems(value);
  if (!isJsonObject(value)) return value;
  const operators = Object.entries(value).map(([operator, operand]): [string, unknown] => [
    operator,
    GROUP_OPERATORS.has(operator) ? unflattenItems(operand) : operand,
  ]);
  return Object.fromEntries(operators);
}

function unflattenItems(operand: unknown): unknown {
  if (!Array.isArray(operand)) return operand;
  return operand.map((item: unknown) => (isJsonObject(item) ? unflatten(item) : item));
}
