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

export interface RetryConfig {
  type: 'linear' | 'exponential';
  /** Seconds between attempts. */
  duration: number;
  /** Retries after the first attempt. */
  retry_count: number;
  /** The wait before each retry. The other fields describe it then. */
  schedule?: string[];
}

export const failureActions = ['hold', 'skip'] as const;

/** Deliveries with the same key go one after another, in the order in which their events were accepted. */
export interface Ordering {
  /** `$.body.account.id`, `$.headers.X-Account`, or `endpoint`: one order for all deliveries of the endpoint. */
  key: string;
  /** After a failure the key is held until the delivery is resent or skipped, or the next one goes. */
  on_failure: (typeof failureActions)[number];
}

export const ORDERING_KEY_PATTERN = String.raw`^(endpoint|\$\.body(\.[^.]+)+|\$\.headers\.[^\s:]+)$`;

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
