import { oneOf, Text, Type } from '../../platform/type.ts';
import { Batch } from '../config/batch.ts';
import { RetrySchedule } from '../config/retry-schedule.ts';
import {
  AlertConfig,
  type FilterConditions,
  type FilterRecord,
  noConditions,
  Ordering,
  RateLimitConfig,
  RetryConfig,
  retryTypes,
} from '../config/subscription.ts';
import { type DeliveryMode, deliveryModes } from '../delivery.ts';
import { asId, type EndpointId, type SourceId } from '../ids.ts';
import { choice, count, field, flag, group, key, name, text, type Values } from './fields.ts';

const byKey = { why: 'the file names it by its key' };
const inFilterConfig = {
  label: { why: 'filter_config has it' },
  file: { why: 'filter_config has it' },
  given: 'never',
  hidden: true,
} as const;

/** Responses name linked resources as a whole: `hidden`. */
export const subscriptionFields = {
  name,
  type: choice(
    { of: ['api', 'cli'], usual: 'api' as string },
    {
      text: '`cli`: the subscription of a device.',
      label: { why: 'devices make theirs' },
      file: { why: 'devices make theirs' },
      given: 'never',
      meta: true,
    },
  ),
  status: choice(
    { of: ['active', 'inactive'], usual: 'active' as string },
    {
      text: '`inactive`: it matches no event.',
      label: { why: 'it has a button of its own' },
      given: 'never',
      meta: true,
    },
  ),
  endpoint_id: field(
    { usual: asId<EndpointId>(''), input: Text(64) },
    {
      text: 'Endpoint that the deliveries go to. Required.',
      label: 'Endpoint',
      file: byKey,
      hidden: true,
      meta: true,
    },
  ),
  source_id: field(
    { usual: '' as SourceId | '', input: Text(64) },
    {
      text: 'Only events of this source. Empty: events of any origin.',
      label: 'Source',
      file: byKey,
      hidden: true,
      meta: true,
    },
  ),
  event_types: field(
    { usual: ['*'], input: Type.Array(Type.String()) },
    { text: 'Event types that it matches.', ...inFilterConfig },
  ),
  filter: field(
    { usual: noConditions() as FilterConditions, input: Type.Unknown() },
    { text: 'Conditions for every event type.', ...inFilterConfig },
  ),
  /** Existing records. Saving keeps one per event type: it drops the others and creates missing ones. */
  filters: field(
    { usual: [] as readonly FilterRecord[], input: Type.Unknown() },
    { text: 'Filters of single event types.', ...inFilterConfig },
  ),
  function: text(262_144, { text: 'JavaScript that returns the payload to send.', label: 'Function' }),
  is_portal_function: flag(false, {
    text: 'Whether the function was last changed through a portal link. It sees no [variables](functions.md#variables).',
    label: { why: 'it follows from who changes the function' },
    file: { why: 'it follows from who changes the function' },
    given: 'never',
  }),
  delivery_mode: choice(
    { of: deliveryModes, usual: 'at_least_once' as DeliveryMode },
    {
      text: '`at_most_once` never repeats a request that may have arrived.',
      label: 'Mode',
      portal: true,
      meta: true,
    },
  ),
  alert_config: group(AlertConfig, {
    text: 'Failed attempts that raise an alert. Needs both members. `{}` removes it.',
    label: 'Failed attempts',
  }),
  rate_limit_config: group(RateLimitConfig, {
    text: 'Limit of sends. Needs both members. `{}` removes it.',
    label: 'Deliveries',
  }),
  retry_config: group(
    RetryConfig,
    { text: 'Retries. `{}`: as the project.', label: 'Retries' },
    Type.Object({
      type: Type.Optional(oneOf([...retryTypes, ''], 'As `strategy.type` of the project.')),
      duration: Type.Optional(Text(32, 'Wait as a duration such as `10s`. Overrides `interval_seconds`.')),
      interval_seconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'Wait between attempts in seconds.' }),
      ),
      retry_count: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 1000,
          description: 'Retries after the first attempt. 0: one attempt.',
        }),
      ),
      schedule: Type.Optional(RetrySchedule),
    }),
  ),
  ordering: group(Ordering, {
    text: '[Order by key](ordering.md). `on_failure` is `hold` unless given. `{}` removes it.',
    label: 'Order by key',
  }),
  batch: group(Batch, {
    text: '[Batches](batches.md): many deliveries in one request. `{}` removes it.',
    label: 'Batches',
  }),
  ttl_seconds: count(2_147_483_647, {
    text: 'Deliveries [expire](deliveries.md#later-and-expiry) so many seconds after their event. 0: never.',
    label: 'Expires after',
    meta: true,
  }),
  key,
};

export type SubscriptionFields = Values<typeof subscriptionFields>;
