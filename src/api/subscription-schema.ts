import { type Static, Type } from 'typebox';
import { idTime } from '../domain/ids.ts';
import type { EndpointRow } from '../store/endpoints.ts';
import type { SubscriptionRow } from '../store/subscriptions.ts';
import { Endpoint, toEndpoint } from './endpoint-schema.ts';
import { iso, isoOrNull, NullableTime, oneOf, RequiredText, Text, Time } from './fields.ts';

const Conditions = Type.Record(Type.String(), Type.Unknown());

const AlertConfig = Type.Object({
  count: Type.Integer({ minimum: 0, description: 'Failed attempts that raise the alert.' }),
  threshold: Text(32, 'Time within which they must fall, as a duration such as 1h.'),
});
const RateLimitConfig = Type.Object({
  count: Type.Integer({ minimum: 0, description: 'Sends per duration; 0 = no limit.' }),
  duration: Type.Integer({ minimum: 0, description: 'Seconds.' }),
});
const retryType = oneOf(['linear', 'exponential']);

export const Subscription = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  name: Type.String(),
  type: oneOf(['api', 'cli']),
  status: oneOf(['active', 'inactive']),
  endpoint_metadata: Type.Union([Endpoint, Type.Null()]),
  source_metadata: Type.Null(),
  device_metadata: Type.Null(),
  function: Type.String(),
  delivery_mode: oneOf(['at_least_once', 'at_most_once']),
  alert_config: Type.Optional(AlertConfig),
  rate_limit_config: Type.Optional(RateLimitConfig),
  retry_config: Type.Optional(
    Type.Object({
      type: retryType,
      duration: Type.Integer({ description: 'Seconds.' }),
      retry_count: Type.Integer(),
    }),
  ),
  filter_config: Type.Object({
    event_types: Type.Array(Type.String()),
    filter: Type.Object({
      is_flattened: Type.Boolean(),
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

export const CreateSubscription = Type.Object({
  name: RequiredText(256),
  endpoint_id: Type.Optional(Text(64)),
  app_id: Type.Optional(Text(64, 'Deprecated: use endpoint_id.')),
  function: Type.Optional(Text(262_144)),
  delivery_mode: Type.Optional(oneOf(['at_least_once', 'at_most_once', ''])),
  alert_config: Type.Optional(AlertConfig),
  rate_limit_config: Type.Optional(RateLimitConfig),
  retry_config: Type.Optional(
    Type.Object({
      type: Type.Optional(retryType),
      duration: Type.Optional(
        Text(32, 'Wait between tries as a duration such as 10s; goes before interval_seconds.'),
      ),
      interval_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000 })),
      retry_count: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1000, description: 'Retries after the first try.' }),
      ),
    }),
  ),
  filter_config: Type.Optional(
    Type.Object({ event_types: Type.Optional(Type.Array(RequiredText(256), { maxItems: 1000 })) }),
  ),
});

export function toSubscription(
  row: SubscriptionRow,
  endpoint: EndpointRow | undefined,
): Static<typeof Subscription> {
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type as 'api',
    status: row.status as 'active',
    endpoint_metadata: endpoint === undefined ? null : toEndpoint(endpoint),
    source_metadata: null,
    device_metadata: null,
    function: row.function,
    delivery_mode: row.delivery_mode as 'at_least_once',
    ...(row.alert_config !== null && { alert_config: row.alert_config }),
    ...(row.rate_limit_config !== null && { rate_limit_config: row.rate_limit_config }),
    ...(row.retry_config !== null && { retry_config: row.retry_config }),
    filter_config: { event_types: row.event_types, filter: { is_flattened: false, ...row.filter } },
    created_at: iso(idTime(row.id)),
    updated_at: iso(row.updated_at),
    deleted_at: isoOrNull(row.deleted_at),
  };
}
