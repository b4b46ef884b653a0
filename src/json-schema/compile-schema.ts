import type { WorkMeter } from '../matcher/work-meter.ts';
import { isObject } from '../platform/json/is-object.ts';
import { type Json, plainRules, type Rule, searchOf, textsOf, UnusableSchema } from './plain-rules.ts';
import { type SchemaProblem, SchemaRun } from './schema-run.ts';

/**
 * JSON Schema (2020-12, 2019-09, draft 7) as closures, for checks of payloads. No code is generated, nothing is fetched,
 * patterns take linear time, and each check has a bounded amount of work.
 *
 * A schema with a reference outside of itself, or with a keyword whose meaning depends on other keywords' results, cannot
 * be used. `format` describes and is not checked, as in the standard.
 */
export interface CompiledSchema {
  /** It yields after each slice. Null: it needed more work than allowed. Checks with one meter share its work. */
  check(
    value: unknown,
    meter?: WorkMeter,
    stepsAtOnce?: number,
  ): Generator<void, readonly SchemaProblem[] | null>;
}

const MAX_NODES = 10_000;
const MAX_REQUIRED = 1_000;
const REFUSED = ['unevaluatedProperties', 'unevaluatedItems', '$dynamicRef', '$recursiveRef'];

/** A text says why the schema cannot be used. */
export function compileSchema(schema: Json): CompiledSchema | string {
  try {
    const rule = new Compiler(schema).root();
    return {
      *check(value, meter, stepsAtOnce) {
        const run = new SchemaRun(meter, stepsAtOnce);
        while (!run.next(() => rule(value, 'data', run))) yield;
        return run.isOver ? null : run.problems;
      },
    };
  } catch (error) {
    if (error instanceof UnusableSchema) return error.message;
    throw error;
  }
}

const ANYTHING: Rule = () => true;

class Compiler {
  readonly #root: Json;
  readonly #isDraft7: boolean;
  /** By pointer. A schema may refer to one that is being compiled. */
  readonly #referred = new Map<string, { rule: Rule }>();
  #nodes = 0;

  constructor(root: Json) {
    this.#root = root;
    const { $schema: dialect } = root;
    this.#isDraft7 = typeof dialect === 'string' && dialect.includes('draft-07');
  }

  root(): Rule {
    return this.#compile(this.#root);
  }

  #compile(schema: unknown): Rule {
    if (schema === undefined) return ANYTHING;
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) throw new UnusableSchema(`it has more than ${MAX_NODES} parts`);
    if (schema === true) return ANYTHING;
    if (!isObject(schema)) return (_value, at, run) => run.fail(at, 'is not allowed');
    const refused = REFUSED.find((name) => name in schema);
    if (refused !== undefined) throw new UnusableSchema(`${refused} is not supported`);
    if (typeof schema['$id'] === 'string' && schema !== this.#root)
      throw new UnusableSchema('an $id inside of it is not supported');
    const reference = typeof schema['$ref'] === 'string' ? [this.#reference(schema['$ref'])] : [];
    const own = this.#isDraft7 && reference.length > 0 ? [] : this.#rules(schema);
    const rules = [...reference, ...own];
    return (value, at, run) => {
      if (!run.spend() || !run.pay(rules.length)) return true;
      return run.deeper(() => run.all(rules, (rule) => rule(value, at, run)));
    };
  }

  #reference(reference: string): Rule {
    const known = this.#referred.get(reference);
    const entry = known ?? { rule: ANYTHING };
    if (known === undefined) {
      this.#referred.set(reference, entry);
      entry.rule = this.#compile(this.#target(reference));
    }
    return (value, at, run) => entry.rule(value, at, run);
  }

  #target(reference: string): unknown {
    const named = `the reference ${reference.slice(0, 200)}`;
    if (!/^#(\/|$)/.test(reference)) throw new UnusableSchema(`${named} does not stay within the schema`);
    let place: unknown = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
      const isKnown = typeof place === 'object' && place !== null && Object.hasOwn(place, name);
      if (!isKnown) throw new UnusableSchema(`${named} leads nowhere`);
      place = (place as Json)[name];
    }
    return place;
  }

  #rules(schema: Json): Rule[] {
    return [
      ...plainRules(schema),
      ...this.#listRules(schema),
      ...this.#fieldRules(schema),
      ...this.#dependencies(schema),
      ...this.#choices(schema),
    ];
  }

  #listRules(schema: Json): Rule[] {
    const { items, prefixItems, additionalItems, contains } = schema;
    const first = (Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []).map((one) =>
      this.#compile(one),
    );
    const rest = this.#compile(Array.isArray(items) ? additionalItems : items);
    const each: Rule = (value, at, run) =>
      !Array.isArray(value) ||
      !run.pay(value.length) ||
      run.all(value, (item, n) => (first[n] ?? rest)(item, `${at}[${n}]`, run));
    const isNeeded = first.length > 0 || rest !== ANYTHING;
    return [...(isNeeded ? [each] : []), ...(contains === undefined ? [] : [this.#contains(schema)])];
  }

  #contains({ contains, minContains = 1, maxContains = Number.POSITIVE_INFINITY }: Json): Rule {
    const rule = this.#compile(contains);
    return (value, at, run) => {
      if (!Array.isArray(value) || !run.pay(value.length)) return true;
      const found = run.count(value, (item) => run.quietly(() => rule(item, at, run)));
      return (
        (found >= (minContains as number) && found <= (maxContains as number)) ||
        run.fail(at, 'has not the items that it must contain')
      );
    };
  }

  #fieldRules(schema: Json): Rule[] {
    const named = this.#named(schema['properties']);
    const patterns = Object.entries(
      isObject(schema['patternProperties']) ? schema['patternProperties'] : {},
    ).map(([pattern, one]) => ({ search: searchOf(pattern), rule: this.#compile(one) }));
    const rest = this.#compile(schema['additionalProperties']);
    const names = this.#compile(schema['propertyNames']);
    const required = textsOf(schema['required'], { of: 'required', most: MAX_REQUIRED });
    const rulesOf = (name: string, run: SchemaRun): Rule[] => {
      const matching = patterns.filter(({ search }) => search(name, run)).map(({ rule }) => rule);
      const own = named.get(name);
      if (own !== undefined) return [own, ...matching];
      return matching.length > 0 ? matching : [rest];
    };
    return [
      (value, at, run) =>
        !isObject(value) ||
        !run.spend(required.length) ||
        run.all(required, (name) => Object.hasOwn(value, name) || run.fail(`${at}.${name}`, 'is required')),
      (value, at, run) =>
        !isObject(value) ||
        run.keep(
          // The entries of 100,000 fields take 90 ms, their names 30.
          () => Object.keys(value),
          (fields) =>
            run.all(fields, (name) => {
              if (!run.spend() || !run.pay(patterns.length)) return true;
              const place = `${at}.${name}`;
              return run.keep(
                () => ({ rules: rulesOf(name, run), isRight: undefined as boolean | undefined }),
                (check) => {
                  check.isRight ??= run.all(check.rules, (rule) => rule(value[name], place, run));
                  return check.isRight && names(name, place, run);
                },
              );
            }),
        ),
    ];
  }

  #named(schemas: unknown): Map<string, Rule> {
    const entries = isObject(schemas) ? Object.entries(schemas) : [];
    return new Map(entries.map(([name, one]) => [name, this.#compile(one)]));
  }

  /** `dependencies` of draft 7 are names or a schema. */
  #dependencies(schema: Json): Rule[] {
    const given = ['dependentRequired', 'dependentSchemas', 'dependencies'].flatMap((name) =>
      isObject(schema[name]) ? Object.entries(schema[name]) : [],
    );
    return given.map(([name, needed]) => {
      const rule = Array.isArray(needed) ? this.#compile({ required: needed }) : this.#compile(needed);
      return (value, at, run) => !isObject(value) || !Object.hasOwn(value, name) || rule(value, at, run);
    });
  }

  #choices(schema: Json): Rule[] {
    const list = (name: string) =>
      Array.isArray(schema[name]) ? [(schema[name] as unknown[]).map((one) => this.#compile(one))] : [];
    const passing = (rules: Rule[], value: unknown, run: SchemaRun) =>
      run.pay(rules.length) ? run.count(rules, (rule) => run.quietly(() => rule(value, '', run))) : 1;
    const not = 'not' in schema ? [this.#compile(schema['not'])] : [];
    return [
      ...list('allOf').map(
        (rules): Rule =>
          (value, at, run) =>
            !run.pay(rules.length) || run.all(rules, (rule) => rule(value, at, run)),
      ),
      ...list('anyOf').map(
        (rules): Rule =>
          (value, at, run) =>
            passing(rules, value, run) > 0 || run.fail(at, 'fits none of the alternatives'),
      ),
      ...list('oneOf').map(
        (rules): Rule =>
          (value, at, run) =>
            passing(rules, value, run) === 1 || run.fail(at, 'does not fit exactly one of the alternatives'),
      ),
      ...not.map(
        (rule): Rule =>
          (value, at, run) =>
            !run.quietly(() => rule(value, at, run)) || run.fail(at, 'fits what is excluded'),
      ),
      ...('if' in schema ? [this.#condition(schema)] : []),
    ];
  }

  #condition(schema: Json): Rule {
    const [test, yes, no] = ['if', 'then', 'else'].map((name) => this.#compile(schema[name])) as [
      Rule,
      Rule,
      Rule,
    ];
    return (value, at, run) =>
      run.keep(
        () => ({ isTrue: undefined as boolean | undefined }),
        (tested) => {
          tested.isTrue ??= run.quietly(() => test(value, at, run));
          return (tested.isTrue ? yes : no)(value, at, run);
        },
      );
  }
}

/** A pointer in a reference may be percent-encoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
