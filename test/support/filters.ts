import { type CompiledFilter, compileFilter, type FilterScopes } from '../../src/matcher/filter.ts';
import { type FilterInput, FilterSubject } from '../../src/matcher/filter-subject.ts';

const nothing: FilterInput = { body: undefined, headers: {}, query: '', path: '/' };

/** A filter that is valid. */
export function compiled(scopes: FilterScopes): CompiledFilter {
  const result = compileFilter(scopes);
  if (!result.ok) throw new Error(`${result.path}: ${result.message}`);
  return result.filter;
}

/** An event with these parts and no others. */
export function subjectWith(input: Partial<FilterInput>): FilterSubject {
  return new FilterSubject({ ...nothing, ...input });
}
