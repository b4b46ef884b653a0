import { type Static, Type } from 'typebox';
import { type FilterConditions, type FilterRecord, filterScopes } from '../../domain/subscription.ts';
import { validateFilter } from '../../matcher/filter.ts';
import { neverMatches } from '../../matcher/never-matches.ts';
import { invalid } from '../http/fields.ts';

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

/** Each node holds every subscription's filters in memory, so that what one of them may take is limited. */
const MAX_FILTER_BYTES = 1_048_576;
const MAX_EVENT_TYPES = 1_000;

export function checkFilterSize(conditions: FilterConditions, records: readonly FilterRecord[]): void {
  if (records.length > MAX_EVENT_TYPES)
    throw invalid('event_types', `a subscription has at most ${MAX_EVENT_TYPES} event types`);
  if (Buffer.byteLength(JSON.stringify([conditions, records])) > MAX_FILTER_BYTES)
    throw invalid('filter', `the filters of a subscription take at most ${MAX_FILTER_BYTES} bytes together`);
}
