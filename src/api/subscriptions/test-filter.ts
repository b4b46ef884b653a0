import type { Static } from 'typebox';
import { invalid } from '../../domain/errors.ts';
import type { Explanation } from '../../matcher/explain.ts';
import { FilterSubject } from '../../matcher/filter-subject.ts';
import { jsonStart } from '../../matcher/json-start.ts';
import { Type } from '../../platform/type.ts';
import { Conditions } from './filter-conditions.ts';

/** A sample request to test filters on. */
export const SampleRequest = Type.Object({
  body: Type.Optional(Type.Unknown()),
  header: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  headers: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  query: Type.Optional(Type.Unknown({ description: 'An object, or a query string.' })),
  path: Type.Optional(Type.Unknown({ description: 'The path, or an object with it under `path`.' })),
});

export const TestFilter = Type.Object({
  request: Type.Optional(SampleRequest),
  schema: Type.Optional(
    Type.Object({
      body: Type.Optional(Conditions),
      header: Type.Optional(Conditions),
      headers: Type.Optional(Conditions),
      query: Type.Optional(Conditions),
      path: Type.Optional(Conditions),
    }),
  ),
});

export const FilterExplanation = Type.Object(
  {
    matched: Type.Boolean(),
    scope: Type.Optional(Type.String()),
    path: Type.Optional(Type.String()),
    operator: Type.Optional(Type.String()),
    expected: Type.Optional(Type.Unknown()),
    actual: Type.Optional(Type.Unknown()),
    reason: Type.Optional(Type.String()),
  },
  { description: 'The first condition that failed, with the actual value.' },
);

const MAX_SHOWN_CHARS = 4_096;

/** An explanation for the response. The value is untrusted, of any size and depth. */
export function shownExplanation(explanation: Explanation): Static<typeof FilterExplanation> {
  if (explanation.matched) return { matched: true };
  const { actual, ...rest } = explanation;
  return { ...rest, ...(actual !== undefined && { actual: shownValue(actual) }) };
}

function shownValue(value: unknown): unknown {
  const text = jsonStart(value, MAX_SHOWN_CHARS);
  return text.length <= MAX_SHOWN_CHARS ? value : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}

export function sampleSubject(sample: Static<typeof SampleRequest>): FilterSubject {
  return new FilterSubject({
    body: sample.body ?? null,
    headers: textValues({ ...sample.header, ...sample.headers }),
    query: queryText(sample.query),
    path: pathText(sample.path),
  });
}

function textValues(given: Record<string, unknown>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, texts(value)]));
}

function texts(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

function queryText(given: unknown): string {
  if (given === undefined || given === null) return '';
  if (typeof given === 'string') return given;
  if (typeof given !== 'object' || Array.isArray(given))
    throw invalid('request.query', 'must be an object or a query string');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given))
    for (const text of texts(value)) query.append(name, text);
  return query.toString();
}

function pathText(given: unknown): string {
  if (given === undefined || given === null) return '';
  const path = typeof given === 'object' && 'path' in given ? given.path : given;
  if (typeof path === 'string') return path;
  if (typeof path === 'object') return '';
  throw invalid('request.path', 'must be a text, or an object with the text under path');
}
