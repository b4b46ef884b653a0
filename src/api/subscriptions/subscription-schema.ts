import type { Static } from 'typebox';
import { deliveryModes } from '../../domain/delivery.ts';
import { idTime } from '../../domain/ids.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { NullableDevice } from '../endpoints/device-schema.ts';
import { Endpoint } from '../endpoints/endpoint-schema.ts';
import { iso, isoOrNull, Key, NullableTime, Time } from '../http/fields.ts';
import { shownOrNull } from '../http/show-rows.ts';
import { Source, toSource } from '../sources/source-schema.ts';
import { Conditions, ScopeConditions } from './filter-conditions.ts';

const AlertConfig = Type.Object({
  count: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Failed attempts that raise the alert.',
  }),
  threshold: Text(32, 'Time within which they must occur, as a duration such as 1h.'),
});
const RateLimitConfig = Type.Object({
  count: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Sends per duration; 0 = no limit.' }),
  duration: Type.Integer({ minimum: 0, maximum: 86_400, description: 'Seconds.' }),
});

export const Subscription = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  name: Type.String(),
  type: oneOf(['api', 'cli']),
  status: oneOf(['active', 'inactive']),
  endpoint_metadata: Type.Union([Endpoint, Type.Null()]),
  source_metadata: Type.Union([Source, Type.Null()]),
  device_metadata: NullableDevice,
  function: Type.String(),
  delivery_mode: oneOf(deliveryModes),
  key: Type.String(),
  alert_config: Type.Optional(AlertConfig),
  rate_limit_config: Type.Optional(RateLimitConfig),
  retry_config: Type.Optional(
    Type.Object({
      type: oneOf(['linear', 'exponential']),
      duration: Type.Integer({ description: 'Seconds.' }),
      retry_count: Type.Integer(),
    }),
  ),
  filter_config: Type.Object({
    event_types: Type.Array(Type.String()),
    filter: Type.Object({
      is_flattened: Type.Boolean({ description: 'false: the conditions are in the given form.' }),
      body: Conditions,
      headers: Conditions,
      query: Conditions,
      path: Conditions,
    }),
  }),
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const optionalFields = {
  endpoint_id: Type.Optional(Text(64)),
  app_id: Type.Optional(Text(64, 'Deprecated: use endpoint_id.')),
  source_id: Type.Optional(Text(64, 'Only events of this source; without one, events of any origin.')),
  function: Type.Optional(Text(262_144, 'JavaScript that returns the payload to send.')),
  delivery_mode: Type.Optional(oneOf([...deliveryModes, ''])),
  key: Type.Optional(Key),
  alert_config: Type.Optional(
    Type.Partial(AlertConfig, { description: 'Needs both members; an empty object removes the alert.' }),
  ),
  rate_limit_config: Type.Optional(
    Type.Partial(RateLimitConfig, {
      description: 'Needs both members; an empty object removes the limit.',
    }),
  ),
  retry_config: Type.Optional(
    Type.Object({
      type: Type.Optional(oneOf(['linear', 'exponential', ''])),
      duration: Type.Optional(
        Text(32, 'Wait between attempts as a duration such as 10s; overrides interval_seconds.'),
      ),
      interval_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
      retry_count: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1000, description: 'Retries after the first attempt.' }),
      ),
    }),
  ),
  filter_config: Type.Optional(
    Type.Object({
      event_types: Type.Optional(
        Type.Array(RequiredText(256), {
          maxItems: 1000,
          description: 'Exact names, `*`, or trailing globs such as invoice.*; none means `*`.',
        }),
      ),
      filter: Type.Optional(ScopeConditions),
    }),
  ),
};

export const CreateSubscription = Type.Object({ name: RequiredText(256), ...optionalFields });
export const UpdateSubscription = Type.Object({ name: Type.Optional(Text(256)), ...optionalFields });

export function toSubscription(
  row: SubscriptionRow,
  links: {
    endpoint: Static<typeof Endpoint> | null;
    device: Static<typeof NullableDevice>;
    source: SourceRow | undefined;
    publicUrl: string;
  },
): Static<typeof Subscription> {
  const { endpoint, source } = links;
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type as 'api',
    status: row.status as 'active',
    endpoint_metadata: endpoint,
    source_metadata: source === undefined ? null : shownOrNull(() => toSource(source, links.publicUrl)),
    device_metadata: links.device,
    function: row.function,
    delivery_mode: row.delivery_mode,
    key: row.key,
    ...(row.alert_config !== null && { alert_config: row.alert_config }),
    ...(row.rate_limit_config !== null && { rate_limit_config: row.rate_limit_config }),
    ...(row.retry_config !== null && { retry_config: row.retry_config }),
    filter_config: { event_types: row.event_types, filter: { is_flattened: false, ...row.filter } },
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: isoOrNull(row.deleted_at),
  };
}
