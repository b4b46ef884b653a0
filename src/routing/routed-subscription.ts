import type { ProjectConfig } from '../domain/config/project-config.ts';
import { type RateLimit, rateLimit } from '../domain/config/rate-limit.ts';
import { scheduleSeconds } from '../domain/config/retry-schedule.ts';
import {
  type FilterRecord,
  filterScopes,
  isEventTypePattern,
  type RetryConfig,
  recordConditions,
} from '../domain/config/subscription.ts';
import type { RetryPolicy } from '../domain/delivery.ts';
import { matchesEventType } from '../matcher/event-type.ts';
import { type CompiledFilter, compileFilter } from '../matcher/filter.ts';
import type { SubscriptionRow } from '../store/config/subscriptions.ts';

/** The retry settings. The longest wait is a setting of the instance. */
type RetryBudget = Omit<RetryPolicy, 'maxRetrySeconds'>;

export interface RoutedFilter {
  record: FilterRecord;
  /** Null: no conditions. */
  compiled: CompiledFilter | null;
}

export interface RoutedSubscription {
  row: SubscriptionRow;
  retry: RetryBudget;
  limit: RateLimit | null;
  /** The enabled records, the most specific first. The first whose type matches an event decides. */
  filters: readonly RoutedFilter[];
}

export function routeSubscription(row: SubscriptionRow, config: ProjectConfig): RoutedSubscription {
  // Most records have no conditions of their own and share the subscription's, compiled once.
  let shared: CompiledFilter | null | undefined;
  const compiled = (record: FilterRecord) => {
    if (Object.keys(record.own).length > 0) return compile(row, record);
    if (shared === undefined) shared = compile(row, record);
    return shared;
  };
  const filters = row.filters
    .filter((record) => record.enabled_at !== null)
    .map((record) => ({ record, compiled: compiled(record) }))
    .sort((a, b) => specificity(b.record.event_type) - specificity(a.record.event_type));
  const { count = 0, duration = 0 } = row.rate_limit_config ?? {};
  return { row, retry: retryBudget(config, row.retry_config), limit: rateLimit(count, duration), filters };
}

/** The record that decides about events of a type, if one is enabled. */
export function decidingFilter(
  subscription: RoutedSubscription,
  eventType: string,
): RoutedFilter | undefined {
  return subscription.filters.find(({ record }) => matchesEventType(record.event_type, eventType));
}

/** An exact name before any glob, a longer glob before a shorter one. */
function specificity(eventType: string): number {
  return isEventTypePattern(eventType) ? eventType.length : Number.MAX_SAFE_INTEGER;
}

function compile(row: SubscriptionRow, record: FilterRecord): CompiledFilter | null {
  const conditions = recordConditions(row.filter, record);
  if (filterScopes.every((scope) => Object.keys(conditions[scope] ?? {}).length === 0)) return null;
  const result = compileFilter(conditions);
  return result.ok ? result.filter : unreadable(result.path, result.message);
}

/** Writes are validated, so this filter was stored under other rules. It matches nothing and explains why. */
function unreadable(path: string, message: string): CompiledFilter {
  const reason = `The filter cannot be read: ${path}: ${message}`;
  const mismatch = {
    matched: false,
    scope: 'body',
    path,
    operator: '',
    expected: undefined,
    actual: undefined,
  } as const;
  return {
    usesBody: false,
    matches: () => false,
    matching: () => atOnce(false),
    explaining: () => atOnce({ ...mismatch, reason }),
  };
}

/** Work in slices that is done already. */
function* atOnce<Result>(result: Result): Generator<void, Result> {
  yield* [];
  return result;
}

/**
 * A subscription's retry_config overrides the project's strategy. The former counts retries after the first
 * attempt, the latter all attempts.
 */
function retryBudget(project: ProjectConfig, retryConfig: RetryConfig | null): RetryBudget {
  if (retryConfig === null) {
    const { type, duration, retry_count, schedule } = project.strategy;
    return { strategy: type, intervalSeconds: duration, retryLimit: retry_count, ...listed(schedule) };
  }
  return {
    strategy: retryConfig.type,
    intervalSeconds: retryConfig.duration,
    retryLimit: retryConfig.retry_count + 1,
    ...listed(retryConfig.schedule),
  };
}

const listed = (schedule: readonly string[] = []): Pick<RetryPolicy, 'schedule'> => ({
  schedule: schedule.length === 0 ? null : scheduleSeconds(schedule),
});
