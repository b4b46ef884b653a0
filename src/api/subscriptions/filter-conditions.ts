import type { Static } from 'typebox';
import { type FilterConditions, filterScopes } from '../../domain/config/subscription.ts';
import { invalid } from '../../domain/errors.ts';
import { validateFilter } from '../../matcher/filter.ts';
import { neverMatches } from '../../matcher/never-matches.ts';
import { Type } from '../../platform/type.ts';

/** Conditions in requests, and their rules. */
export const Conditions = Type.Record(Type.String(), Type.Unknown());

const scope = (description: string) => Type.Optional({ ...Conditions, description });

export const ScopeConditions = Type.Object({
  body: scope('[Conditions](filters.md) on the payload.'),
  headers: scope('Conditions on the headers.'),
  query: scope('Conditions on the query string.'),
  path: scope('Conditions on the path.'),
});
export type ScopeConditions = Static<typeof ScopeConditions>;

/** The given scopes, each checked. A mistake is named by its path below `field`. */
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

/** Conditions that can never hold, named by their path below `field`. */
export function filterWarnings(given: ScopeConditions | undefined, field: string): string[] {
  return neverMatches(given ?? {}).map((problem) => (field === '' ? problem : `${field}.${problem}`));
}
