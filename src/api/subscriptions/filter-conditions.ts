import { type Static, Type } from 'typebox';
import { invalid } from '../../domain/errors.ts';
import { type FilterConditions, filterScopes } from '../../domain/subscription.ts';
import { validateFilter } from '../../matcher/filter.ts';
import { neverMatches } from '../../matcher/never-matches.ts';

/** Conditions as they are written, and the rules that hold for them wherever they are written. */
export const Conditions = Type.Record(Type.String(), Type.Unknown());

export const ScopeConditions = Type.Object({
  body: Type.Optional(Conditions),
  headers: Type.Optional(Conditions),
  query: Type.Optional(Conditions),
  path: Type.Optional(Conditions),
});
export type ScopeConditions = Static<typeof ScopeConditions>;

/** The scopes that were given, each checked; a mistake is named by its place below `field`. */
export function readConditions(given: ScopeConditions, field: string): Partial<FilterConditions> {
  const result = validateFilter(given);
  if (!result.ok) throw invalid([field, result.path].filter(Boolean).join('.'), result.message);
  const conditions: Partial<FilterConditions> = {};
  for (const scope of filterScopes) {
    const written = given[scope];
    if (written !== undefined) conditions[scope] = written;
  }
  return conditions;
}

/** Conditions that can never hold, named by their place below `field`. */
export function filterWarnings(given: ScopeConditions | undefined, field: string): string[] {
  return neverMatches(given ?? {}).map((problem) => (field === '' ? problem : `${field}.${problem}`));
}
