/** Conditions on an event, as given by the user: nested or dotted, per scope. */
export interface FilterConditions {
  body: Record<string, unknown>;
  headers: Record<string, unknown>;
  query: Record<string, unknown>;
  path: Record<string, unknown>;
}

export const filterScopes = ['body', 'headers', 'query', 'path'] as const;

/**
 * What a subscription asks of one event type (or `*`, or a trailing glob). A record follows the subscription's own
 * conditions, scope by scope, except where `own` holds others: those were set through the filter routes, and stay
 * until the subscription is given new conditions for that scope.
 */
export interface FilterRecord {
  uid: string;
  event_type: string;
  /** null: switched off. */
  enabled_at: string | null;
  own: Partial<FilterConditions>;
}

export interface RetryConfig {
  type: 'linear' | 'exponential';
  /** Seconds between tries. */
  duration: number;
  /** Retries after the first try. */
  retry_count: number;
}

export const noConditions = (): FilterConditions => ({ body: {}, headers: {}, query: {}, path: {} });

export function recordConditions(subscription: FilterConditions, record: FilterRecord): FilterConditions {
  return { ...subscription, ...record.own };
}

/** One record per event type, in the order of the types: those there are, and new ones for the rest. */
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

/** `*` and trailing globs stand for types; they are none themselves. */
export function isEventTypePattern(eventType: string): boolean {
  return eventType.endsWith('*');
}
