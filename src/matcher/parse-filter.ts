import { compilePath, WILDCARD } from './field-path.ts';
import type { FilterNode } from './filter-node.ts';
import type { FilterScope } from './filter-subject.ts';
import { isJsonObject, isNestedList, type JsonObject } from './json-values.ts';
import { type FieldTest, fieldOperator, GROUP_OPERATORS, looksLikeOperator, plainTest } from './operators.ts';

/** How deep a filter may nest, operands included. Bounded because the walks over filters recurse. */
const MAX_DEPTH = 32;
/** A compiled path stores every way of joining its segments: 210 keys for 20 segments. */
const MAX_PATH_SEGMENTS = 20;
const MAX_PATH_CHARS = 1_000;
const MAX_WILDCARDS = 3;
/** Conditions of one scope. `$in` lists many values in one condition. */
const MAX_CONDITIONS = 500;

export type ParseResult = { ok: true; node: FilterNode } | { ok: false; path: string; message: string };

export function parseFilter(scope: FilterScope, filter: JsonObject): ParseResult {
  if (isDeeperThan(filter, MAX_DEPTH)) {
    return { ok: false, path: scope, message: `the filter nests deeper than ${MAX_DEPTH} levels` };
  }
  return new FilterParser(scope).parse(filter);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

/** The parser's position: the current field, and the path in the filter as written, for messages. */
interface Place {
  readonly segments: readonly string[];
  readonly written: readonly string[];
}

/** The conditions that must all hold, by path. A field may occur once per group. */
interface Group {
  readonly nodes: FilterNode[];
  readonly paths: Set<string>;
}

class FilterFault extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** Recursive descent. A mistake is thrown as a FilterFault, and `parse` turns it into a value. */
class FilterParser {
  readonly #scope: FilterScope;
  #conditions = 0;

  constructor(scope: FilterScope) {
    this.#scope = scope;
  }

  parse(filter: JsonObject): ParseResult {
    try {
      return { ok: true, node: this.#all(filter, { segments: [], written: [] }) };
    } catch (error) {
      if (!(error instanceof FilterFault)) throw error;
      return { ok: false, path: error.path, message: error.message };
    }
  }

  #all(filter: JsonObject, place: Place): FilterNode {
    const group: Group = { nodes: [], paths: new Set() };
    this.#fields(filter, place, group);
    return group.nodes.length === 1 ? group.nodes[0]! : { kind: 'all', nodes: group.nodes };
  }

  #fields(filter: JsonObject, place: Place, group: Group): void {
    const tests: FieldTest[] = [];
    for (const [key, value] of Object.entries(filter)) {
      const written = [...place.written, key];
      if (GROUP_OPERATORS.has(key)) {
        group.nodes.push(this.#alternatives(key, value, { segments: place.segments, written }));
      } else if (looksLikeOperator(key)) {
        tests.push(this.#operator(key, value, { segments: place.segments, written }));
      } else {
        this.#value(value, { segments: this.#extend(place, key), written }, group);
      }
    }
    if (tests.length > 0) this.#condition(tests, place, group);
  }

  #value(value: unknown, place: Place, group: Group): void {
    if (isJsonObject(value) && Object.keys(value).length > 0) {
      this.#fields(value, place, group);
    } else if (isNestedList(value)) {
      for (const [index, item] of value.entries()) {
        const written = [...place.written, String(index)];
        this.#value(item, { segments: this.#extend(place, String(index)), written }, group);
      }
    } else {
      this.#condition([plainTest(value)], place, group);
    }
  }

  #alternatives(key: string, value: unknown, place: Place): FilterNode {
    if (!Array.isArray(value)) throw this.#fault(place.written, `${key} takes a list of filters`);
    const nodes = value.map((item: unknown, index) => {
      const written = [...place.written, String(index)];
      if (!isJsonObject(item)) throw this.#fault(written, `each item of ${key} must be an object`);
      return this.#all(item, { segments: place.segments, written });
    });
    if (key === '$and') return { kind: 'all', nodes };
    return { kind: 'any', path: [...place.segments, key].join('.'), expected: value, nodes };
  }

  #operator(key: string, value: unknown, place: Place): FieldTest {
    const compile = fieldOperator(key);
    if (compile === undefined) throw this.#fault(place.written, `there is no operator ${key}`);
    if (place.segments.length === 0) throw this.#fault(place.written, `${key} must stand under a field`);
    const result = compile(value);
    if (!result.ok) throw this.#fault(place.written, result.message);
    return result.test;
  }

  #extend(place: Place, key: string): string[] {
    const added = (this.#scope === 'headers' ? key.toLowerCase() : key).split('.');
    const segments = [...place.segments, ...added];
    const written = [...place.written, key];
    if (segments.length > MAX_PATH_SEGMENTS) {
      throw this.#fault(place.written, `a path has at most ${MAX_PATH_SEGMENTS} segments`);
    }
    if (segments.join('.').length > MAX_PATH_CHARS) {
      throw this.#fault(place.written, `a path has at most ${MAX_PATH_CHARS} characters`);
    }
    const operator = added.find((segment) => segment.startsWith('$') && segment !== WILDCARD);
    if (operator !== undefined) {
      throw this.#fault(written, `${operator} cannot be part of a path; write {"field": {"$eq": ...}}`);
    }
    const wildcards = segments.filter((segment) => segment === WILDCARD).length;
    if (wildcards > 0 && this.#scope !== 'body') {
      throw this.#fault(written, 'wildcards ($.) work only in the body filter');
    }
    if (wildcards > MAX_WILDCARDS) {
      throw this.#fault(written, `a path has at most ${MAX_WILDCARDS} wildcards, this one has ${wildcards}`);
    }
    return segments;
  }

  #condition(tests: readonly FieldTest[], place: Place, group: Group): void {
    if (place.segments.at(-1) === WILDCARD) {
      throw this.#fault(place.written, 'a path cannot end in $; name a field of the elements');
    }
    const path = compilePath(place.segments);
    if (group.paths.has(path.text)) throw this.#fault(place.written, 'the same field is named twice');
    group.paths.add(path.text);
    this.#conditions += 1;
    if (this.#conditions > MAX_CONDITIONS) {
      throw this.#fault(place.written, `a filter has at most ${MAX_CONDITIONS} conditions`);
    }
    group.nodes.push({ kind: 'field', path, tests });
  }

  #fault(written: readonly string[], message: string): FilterFault {
    return new FilterFault([this.#scope, ...written].join('.'), message);
  }
}
