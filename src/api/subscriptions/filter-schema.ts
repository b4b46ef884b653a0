import type { Static } from 'typebox';
import { type FilterRecord, recordConditions } from '../../domain/config/subscription.ts';
import { invalid } from '../../domain/errors.ts';
import { readTime, TIME_HINT } from '../../domain/time.ts';
import { flatten } from '../../matcher/flatten.ts';
import { RequiredText, Text, Type } from '../../platform/type.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import { iso, NullableTime } from '../http/fields.ts';
import { Conditions, ScopeConditions } from './filter-conditions.ts';
import { SampleRequest } from './test-filter.ts';

const flat = Type.Record(Type.String(), Type.Unknown(), { description: 'Flattened: dotted names.' });

export const Filter = Type.Object({
  uid: Type.String(),
  subscription_id: Type.String(),
  event_type: Type.String(),
  enabled_at: NullableTime,
  body: flat,
  headers: flat,
  query: flat,
  path: flat,
  raw_body: Conditions,
  raw_headers: Conditions,
  raw_query: Conditions,
  raw_path: Conditions,
});

/** The form of convoy-go. */
const ENABLED_AT = {
  type: 'object',
  properties: { set: { type: 'boolean' }, time: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
};

const changes = {
  enabled_at: Type.Optional(
    Type.Unsafe<unknown>({
      description: 'When the filter was enabled. Null disables it. Also `{set, time}`.',
      anyOf: [{ type: 'string' }, { type: 'null' }, ENABLED_AT],
    }),
  ),
  ...ScopeConditions.properties,
};

export const CreateFilter = Type.Object({
  event_type: RequiredText(256, 'Event type of the filter.'),
  ...changes,
});
export const UpdateFilter = Type.Object({
  event_type: Type.Optional(Text(256)),
  is_flattened: Type.Optional(Type.Boolean({ description: 'For older callers. Both forms are read.' })),
  ...changes,
});
export const CreateFilters = Type.Array(CreateFilter, { minItems: 1, maxItems: 1000 });
export const UpdateFilters = Type.Array(Type.Object({ uid: RequiredText(64), ...UpdateFilter.properties }), {
  minItems: 1,
  maxItems: 1000,
});
export const TryFilter = Type.Object({
  payload: Type.Optional(
    Type.Unknown({ description: 'The body alone. Alternatively send a whole request.' }),
  ),
  request: Type.Optional(SampleRequest),
});

export function toFilter(row: SubscriptionRow, record: FilterRecord): Static<typeof Filter> {
  const { body, headers, query, path } = recordConditions(row.filter, record);
  return {
    uid: record.uid,
    subscription_id: row.id,
    event_type: record.event_type,
    enabled_at: record.enabled_at,
    body: flatten(body),
    headers: flatten(headers),
    query: flatten(query),
    path: flatten(path),
    raw_body: body,
    raw_headers: headers,
    raw_query: query,
    raw_path: path,
  };
}

/** A time, null for "off", undefined for "not given". Clients send `{set, time}` or `{Valid, Time}` for the same. */
export function readEnabledAt(given: unknown, field: string): string | null | undefined {
  if (given === undefined || given === null) return given;
  if (typeof given === 'object' && !Array.isArray(given)) {
    const { set, time, Valid, Time } = given as Record<string, unknown>;
    if (Valid !== undefined) return Valid === true ? readEnabledAt(Time ?? time, field) : null;
    return set === false ? undefined : readEnabledAt(time ?? null, field);
  }
  const ms = typeof given === 'string' ? readTime(given) : null;
  if (ms === null) throw invalid(field, `${TIME_HINT}, or null`);
  return iso(ms);
}
