/**
 * The place in a JSON value that a condition reads. A path is compiled once into the keys to try at each
 * position. `a.b.c` is found as a > b > c, and also under payload keys that contain dots (`a.b` > c); nested
 * keys are tried first. A walk follows only those keys, so its cost does not depend on the payload's depth or
 * size. The exception is a wildcard, which reads each element of one real array. Every value of a JSON tree
 * has one dotted path, so no value is visited twice even with dotted keys. Only own properties count. Arrays
 * accept only canonical indexes.
 */
export const WILDCARD = '$';

/** The result for a field that does not exist. JSON itself has no undefined. */
export const ABSENT = undefined;

interface Step {
  readonly wildcard: boolean;
  /** The index if this segment names an array element, else -1. */
  readonly index: number;
  readonly keys: readonly { readonly key: string; readonly next: number }[];
}

export interface FieldPath {
  readonly text: string;
  readonly wildcards: number;
  readonly steps: readonly Step[];
}

export function compilePath(segments: readonly string[]): FieldPath {
  const steps = segments.map((segment, at) => {
    const wildcard = segment === WILDCARD;
    return { wildcard, index: arrayIndex(segment), keys: wildcard ? [] : joinedKeys(segments, at) };
  });
  return { text: segments.join('.'), wildcards: steps.filter((step) => step.wildcard).length, steps };
}

function joinedKeys(segments: readonly string[], at: number): { key: string; next: number }[] {
  const keys: { key: string; next: number }[] = [];
  for (let next = at + 1; next <= segments.length; next += 1) {
    if (segments[next - 1] === WILDCARD) break;
    keys.push({ key: segments.slice(at, next).join('.'), next });
  }
  return keys;
}

function arrayIndex(segment: string): number {
  return /^(?:0|[1-9]\d{0,9})$/.test(segment) ? Number(segment) : -1;
}

/** The first value at a path without wildcards, or ABSENT. */
export function findValue(root: unknown, path: FieldPath): unknown {
  // The empty name also reaches a root array. It is the only name for the array itself.
  if (path.text === '' && Array.isArray(root)) return root;
  return descend(root, path.steps, 0);
}

function descend(node: unknown, steps: readonly Step[], at: number): unknown {
  const step = steps[at];
  if (step === undefined) return node;
  if (typeof node !== 'object' || node === null) return ABSENT;
  if (Array.isArray(node)) {
    return step.index >= 0 ? descend(node[step.index], steps, at + 1) : ABSENT;
  }
  for (const { key, next } of step.keys) {
    const value = ownValue(node, key);
    if (value === ABSENT) continue;
    const found = descend(value, steps, next);
    if (found !== ABSENT) return found;
  }
  return ABSENT;
}

/** Reading first makes the common miss one lookup. The value counts only if it is an own property. */
function ownValue(node: object, key: string): unknown {
  const value = (node as Record<string, unknown>)[key];
  return value !== undefined && Object.hasOwn(node, key) ? value : ABSENT;
}

export interface Visitor {
  /** Called for each value found. True ends the walk. */
  accept(value: unknown): boolean;
  /** Called for each array element read. False ends the walk. */
  mayContinue(): boolean;
}

/** Visits every value at a path with wildcards. True when the visitor accepted one. */
export function someValue(root: unknown, path: FieldPath, visitor: Visitor): boolean {
  return visit(root, { steps: path.steps, visitor }, 0);
}

interface Walk {
  readonly steps: readonly Step[];
  readonly visitor: Visitor;
}

function visit(node: unknown, walk: Walk, at: number): boolean {
  const step = walk.steps[at];
  if (step === undefined) return walk.visitor.accept(node);
  if (typeof node !== 'object' || node === null) return false;
  if (Array.isArray(node)) return visitArray(node, walk, at);
  for (const { key, next } of step.keys) {
    const value = ownValue(node, key);
    if (value !== ABSENT && visit(value, walk, next)) return true;
  }
  return false;
}

function visitArray(node: readonly unknown[], walk: Walk, at: number): boolean {
  const { wildcard, index } = walk.steps[at]!;
  if (!wildcard) return index >= 0 && index < node.length && visit(node[index], walk, at + 1);
  for (const element of node) {
    if (!walk.visitor.mayContinue()) return false;
    if (visit(element, walk, at + 1)) return true;
  }
  return false;
}
