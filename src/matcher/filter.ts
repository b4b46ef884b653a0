import { type Explanation, explainNode, type Mismatch } from './explain.ts';
import { type FilterNode, nodeHolds } from './filter-node.ts';
import type { FilterScope, FilterSubject } from './filter-subject.ts';
import { isJsonObject } from './json-values.ts';
import { parseFilter } from './parse-filter.ts';
import { PAUSE, type WorkMeter } from './work-meter.ts';

/**
 * The filters of a subscription as stored, nested or dotted. A scope that is omitted, null or empty matches
 * everything.
 */
export interface FilterScopes {
  readonly body?: unknown;
  readonly headers?: unknown;
  readonly query?: unknown;
  readonly path?: unknown;
}

/** A filter compiled for any number of events. All its scopes must hold. */
export interface CompiledFilter {
  /** Whether the payload must be parsed before matching. */
  readonly usesBody: boolean;
  matches(subject: FilterSubject): boolean;
  /** `matches` for large payloads. It yields after each slice of work. */
  matching(subject: FilterSubject): Generator<void, boolean>;
  /** It yields after each slice of work. */
  explaining(subject: FilterSubject): Generator<void, Explanation>;
}

export interface FilterMistake {
  readonly ok: false;
  /** Where in the filter, e.g. `body.person.age.$foo`. */
  readonly path: string;
  readonly message: string;
}

interface ScopeFilter {
  readonly scope: FilterScope;
  readonly node: FilterNode;
}

const SCOPES = ['body', 'headers', 'query', 'path'] as const satisfies readonly FilterScope[];

const NOT_JSON = 'The payload is not JSON, so a filter on the body cannot match.';
const OUT_OF_STEPS = 'The filter needs more work on this event than allowed.';

export function compileFilter(scopes: FilterScopes): { ok: true; filter: CompiledFilter } | FilterMistake {
  const parsed: ScopeFilter[] = [];
  for (const scope of SCOPES) {
    const filter = scopes[scope] ?? {};
    if (!isJsonObject(filter)) return { ok: false, path: scope, message: 'a filter must be an object' };
    if (Object.keys(filter).length === 0) continue;
    const result = parseFilter(scope, filter);
    if (!result.ok) return result;
    parsed.push({ scope, node: result.node });
  }
  return { ok: true, filter: compiledFilter(parsed) };
}

export function validateFilter(scopes: FilterScopes): { ok: true } | FilterMistake {
  const compiled = compileFilter(scopes);
  return compiled.ok ? { ok: true } : compiled;
}

function compiledFilter(filters: readonly ScopeFilter[]): CompiledFilter {
  const firstFailed = (subject: FilterSubject): ScopeFilter | undefined =>
    filters.find(({ scope, node }) => {
      const root = subject.root(scope);
      return root === undefined || !nodeHolds(node, root, subject.meter);
    });
  return {
    usesBody: filters.some(({ scope }) => scope === 'body'),
    matches: (subject) => metered(subject.meter, () => firstFailed(subject) === undefined),
    *matching(subject) {
      return (yield* inSlices(subject.meter, () => firstFailed(subject))) === undefined;
    },
    *explaining(subject) {
      const { meter } = subject;
      const failed = yield* inSlices(meter, () => firstFailed(subject));
      if (failed === undefined) return { matched: true };
      if (meter.exhausted) return { ...withoutField(failed), reason: OUT_OF_STEPS };
      return yield* inSlices(meter, () => explainScope(failed, subject));
    },
  };
}

function metered<Result>(meter: WorkMeter, work: () => Result): Result {
  meter.begin();
  const result = work();
  meter.end();
  return result;
}

function* inSlices<Result>(meter: WorkMeter, work: () => Result): Generator<void, Result> {
  meter.begin({ mayPause: true });
  for (;;) {
    try {
      const result = work();
      meter.end();
      return result;
    } catch (error) {
      if (error !== PAUSE) throw error;
    }
    yield;
    meter.resume();
  }
}

function explainScope(failed: ScopeFilter, subject: FilterSubject): Mismatch {
  const root = subject.root(failed.scope);
  if (root === undefined) return { ...withoutField(failed), reason: NOT_JSON };
  return { matched: false, scope: failed.scope, ...explainNode(failed.node, root, subject.meter) };
}

function withoutField({ scope }: ScopeFilter): Omit<Mismatch, 'reason'> {
  return { matched: false, scope, path: '', operator: '', expected: undefined, actual: undefined };
}
