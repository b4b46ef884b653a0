import type { Static } from 'typebox';
import { type FormFacts, mark } from '../../platform/json/schema-marks.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { RetrySchedule } from './retry-schedule.ts';

/** Conditions on an event, as given by the user: nested or dotted, per scope. */
export interface FilterConditions {
  body: Record<string, unknown>;
  headers: Record<string, unknown>;
  query: Record<string, unknown>;
  path: Record<string, unknown>;
}

export const filterScopes = ['body', 'headers', 'query', 'path'] as const;

/**
 * The conditions of a subscription for one event type (or `*`, or a trailing glob). A record inherits the
 * subscription's own conditions, scope by scope, except those in `own`. These were set through the filter
 * routes, and stay until the subscription gets new conditions for that scope.
 */
export interface FilterRecord {
  uid: string;
  event_type: string;
  /** Null: disabled. */
  enabled_at: string | null;
  own: Partial<FilterConditions>;
}

const count = (maximum: number, form: FormFacts, description: string) =>
  mark(Type.Integer({ minimum: 0, maximum, description }), { form: { ...form, isShort: true } });

export const AlertConfig = Type.Object({
  count: count(
    1_000_000,
    { label: 'Failed attempts', hint: '0 for no alert.' },
    'Failed attempts that raise an alert.',
  ),
  threshold: mark(Text(32, 'Time within which they must occur, such as `1h`.'), {
    form: { label: 'within', hint: 'Such as 30s or 1h.', isShort: true },
    check: (text: string) =>
      (parseGoDuration(text) ?? 0) > 0 ? undefined : 'must be a duration such as 30s or 1h',
  }),
});

export const RateLimitConfig = Type.Object({
  count: count(
    1_000_000,
    { label: 'Rate limit (deliveries)', hint: '0 for no rate limit.' },
    'Sends of this subscription in any interval of `rate_limit_config.duration`. 0: no limit.',
  ),
  duration: count(86_400, { label: 'Interval (s)' }, 'Length of that interval in seconds.'),
});

export const retryTypes = ['linear', 'exponential'] as const;

/** The form of responses. Requests may give a wait as text, and count retries without the first attempt too. */
export const RetryConfig = Type.Object({
  type: oneOf(retryTypes),
  duration: Type.Integer({ description: 'Seconds.' }),
  /** Retries after the first attempt. */
  retry_count: Type.Integer(),
  /** The wait before each retry. The other fields describe it then. */
  schedule: Type.Optional(RetrySchedule),
});
export type RetryConfig = Static<typeof RetryConfig>;

/** Deliveries with the same key go one after another, in the order in which their events were accepted. */
export const Ordering = Type.Object({
  key: mark(
    Type.String({
      maxLength: 256,
      pattern: String.raw`^(endpoint|\$\.body(\.[^.]+)+|\$\.headers\.[^\s:]+)$`,
      description:
        'Where an event has its key: `$.body.account.id`, `$.headers.X-Account`, or `endpoint` for one order of all deliveries to the endpoint. `ordering_key` of an event overrides it.',
    }),
    {
      form: {
        label: 'Order by key',
        hint: 'Optional. Also $.headers.X-Account, or endpoint for all its deliveries.',
        placeholder: '$.body.account.id',
        isShort: true,
      },
    },
  ),
  on_failure: mark(
    oneOf(
      ['hold', 'skip'],
      '`hold`: after a failure the key waits until the delivery is resent or skipped. `skip`: the next one goes.',
    ),
    {
      usual: 'hold',
      form: {
        label: 'After a failure',
        words: { hold: 'Hold the key', skip: 'Go on with the next' },
        isShort: true,
      },
    },
  ),
});
export type Ordering = Static<typeof Ordering>;

export const noConditions = (): FilterConditions => ({ body: {}, headers: {}, query: {}, path: {} });

export function recordConditions(subscription: FilterConditions, record: FilterRecord): FilterConditions {
  return { ...subscription, ...record.own };
}

/** One record per event type, in the order of the types: existing ones, and new ones for the rest. */
export function recordsFor(
  eventTypes: readonly string[],
  known: readonly FilterRecord[],
  make: { uid(): string; enabledAt: string },
): FilterRecord[] {
  const byType = new Map(known.map((record) => [record.event_type, record]));
  return [...new Set(eventTypes)].map(
    (type) => byType.get(type) ?? { uid: make.uid(), event_type: type, enabled_at: make.enabledAt, own: {} },
  );
}

/** `*` and trailing globs match types. They are not types themselves. */
export function isEventTypePattern(eventType: string): boolean {
  return eventType.endsWith('*');
}
