import { oneOf, Text, Type } from '../../platform/type.ts';
import {
  type Batch,
  MAX_BATCH,
  MAX_BATCH_BYTES,
  MAX_BATCH_WAIT_SECONDS,
  USUAL_BATCH,
} from '../config/batch.ts';
import { RetrySchedule } from '../config/retry-schedule.ts';
import {
  type FilterConditions,
  type FilterRecord,
  failureActions,
  noConditions,
  ORDERING_KEY_PATTERN,
  type Ordering,
  type RetryConfig,
} from '../config/subscription.ts';
import { type DeliveryMode, deliveryModes } from '../delivery.ts';
import { asId, type EndpointId, type SourceId } from '../ids.ts';
import { choice, count, field, flag, key, name, text, type Values } from './fields.ts';

const byKey = { why: 'the file names it by its key' };
const inFilterConfig = {
  label: { why: 'filter_config has it' },
  file: { why: 'filter_config has it' },
  given: 'never',
  hidden: true,
} as const;

const retryTypes = ['linear', 'exponential'] as const;

export const AlertConfig = Type.Object({
  count: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Failed attempts that raise an alert.',
  }),
  threshold: Text(32, 'Time within which they must occur, such as `1h`.'),
});
export const RateLimitConfig = Type.Object({
  count: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Sends of this subscription in any interval of `rate_limit_config.duration`. 0: no limit.',
  }),
  duration: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description: 'Length of that interval in seconds.',
  }),
});

/** The form of responses. Requests may give a wait as text, and count retries without the first attempt too. */
export const ShownRetryConfig = Type.Object({
  type: oneOf(retryTypes),
  duration: Type.Integer({ description: 'Seconds.' }),
  retry_count: Type.Integer(),
  schedule: Type.Optional(RetrySchedule),
});

export const OrderingConfig = Type.Object({
  key: Type.String({
    maxLength: 256,
    pattern: ORDERING_KEY_PATTERN,
    description:
      'Where an event has its key: `$.body.account.id`, `$.headers.X-Account`, or `endpoint` for one order of all deliveries to the endpoint. `ordering_key` of an event overrides it.',
  }),
  on_failure: oneOf(
    failureActions,
    '`hold`: after a failure the key waits until the delivery is resent or skipped. `skip`: the next one goes.',
  ),
});

export const BatchConfig = Type.Object({
  max: Type.Integer({
    minimum: 1,
    maximum: MAX_BATCH,
    description: `Most deliveries of a batch, up to ${MAX_BATCH}. ${USUAL_BATCH.max} unless given.`,
  }),
  max_bytes: Type.Integer({
    minimum: 1,
    maximum: MAX_BATCH_BYTES,
    description: `Most bytes of their payloads, up to ${MAX_BATCH_BYTES}. ${USUAL_BATCH.max_bytes} unless given. What stands around each payload in the request is not counted.`,
  }),
  max_wait_seconds: Type.Integer({
    minimum: 0,
    maximum: MAX_BATCH_WAIT_SECONDS,
    description: `Longest wait of a delivery for others, up to ${MAX_BATCH_WAIT_SECONDS}. ${USUAL_BATCH.max_wait_seconds} unless given. 0: none.`,
  }),
});

/** Responses name linked resources as a whole, and leave out settings that are not made: `hidden`. */
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
    { usual: asId<EndpointId>(''), input: Text(64), output: Type.String() },
    {
      text: 'Endpoint that the deliveries go to. Required.',
      label: 'Endpoint',
      file: byKey,
      hidden: true,
      meta: true,
    },
  ),
  source_id: field(
    { usual: '' as SourceId | '', input: Text(64), output: Type.String() },
    {
      text: 'Only events of this source. Empty: events of any origin.',
      label: 'Source',
      file: byKey,
      hidden: true,
      meta: true,
    },
  ),
  event_types: field(
    { usual: ['*'], input: Type.Array(Type.String()), output: Type.Array(Type.String()) },
    { text: 'Event types that it matches.', ...inFilterConfig },
  ),
  filter: field(
    { usual: noConditions() as FilterConditions, input: Type.Unknown(), output: Type.Unknown() },
    { text: 'Conditions for every event type.', ...inFilterConfig },
  ),
  /** Existing records. Saving keeps one per event type: it drops the others and creates missing ones. */
  filters: field(
    { usual: [] as readonly FilterRecord[], input: Type.Unknown(), output: Type.Unknown() },
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
  alert_config: field(
    {
      usual: null as { count: number; threshold: string } | null,
      input: Type.Partial(AlertConfig),
      output: AlertConfig,
    },
    {
      text: 'Failed attempts that raise an alert. Needs both members. `{}` removes it.',
      label: 'Failed attempts',
      hidden: true,
      meta: true,
    },
  ),
  rate_limit_config: field(
    {
      usual: null as { count: number; duration: number } | null,
      input: Type.Partial(RateLimitConfig),
      output: RateLimitConfig,
    },
    {
      text: 'Limit of sends. Needs both members. `{}` removes it.',
      label: 'Deliveries',
      hidden: true,
      meta: true,
    },
  ),
  retry_config: field(
    {
      usual: null as RetryConfig | null,
      input: Type.Object({
        type: Type.Optional(oneOf([...retryTypes, ''], 'As `strategy.type` of the project.')),
        duration: Type.Optional(Text(32, 'Wait as a duration such as `10s`. Overrides `interval_seconds`.')),
        interval_seconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 31_536_000,
            description: 'Wait between attempts in seconds.',
          }),
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
      output: ShownRetryConfig,
    },
    { text: 'Retries. `{}`: as the project.', label: 'Retries', hidden: true, meta: true },
  ),
  ordering: field(
    {
      usual: null as Ordering | null,
      input: Type.Partial(OrderingConfig),
      output: OrderingConfig,
    },
    {
      text: '[Order by key](ordering.md). `on_failure` is `hold` unless given. `{}` removes it.',
      label: 'Order by key',
      hidden: true,
      meta: true,
    },
  ),
  batch: field(
    {
      usual: null as Batch | null,
      input: Type.Partial(BatchConfig),
      output: BatchConfig,
    },
    {
      text: '[Batches](batches.md): many deliveries in one request. `{}` removes it.',
      label: 'Batches',
      hidden: true,
      meta: true,
    },
  ),
  ttl_seconds: count(2_147_483_647, {
    text: 'Deliveries [expire](deliveries.md#later-and-expiry) so many seconds after their event. 0: never.',
    label: 'Expires after',
    meta: true,
  }),
  key,
};

export type SubscriptionFields = Values<typeof subscriptionFields>;
