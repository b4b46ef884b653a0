import type { Static } from 'typebox';
import { checkFilterSize } from '../../control/filter-changes.ts';
import { newSubscription } from '../../control/subscription-changes.ts';
import { Batch } from '../../domain/config/batch.ts';
import { CONVOY_STRATEGY, type ProjectConfig } from '../../domain/config/project-config.ts';
import { describeSchedule, scheduleProblem } from '../../domain/config/retry-schedule.ts';
import {
  AlertConfig,
  type FilterConditions,
  type FilterRecord,
  filterScopes,
  noConditions,
  Ordering,
  RateLimitConfig,
  type RetryConfig,
} from '../../domain/config/subscription.ts';
import { invalid } from '../../domain/errors.ts';
import { asId, type EndpointId, type SourceId } from '../../domain/ids.ts';
import type { SubscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { retentionOf } from '../../ingest/event-times.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import { readGroup } from '../http/read-group.ts';
import { updated } from '../http/updated.ts';
import { readConditions } from './filter-conditions.ts';
import { type CreateSubscription, UpdateSubscription } from './subscription-schema.ts';

/** The settings of the project that fill in what is omitted, and the bound of retries. */
interface Limits {
  config: ProjectConfig;
  retentionMs: number;
}

export const limitsOf = (
  instance: { retentionMs: number },
  { config }: { config: ProjectConfig },
): Limits => ({
  config,
  retentionMs: retentionOf(config, instance.retentionMs),
});

type Input = Static<typeof CreateSubscription> | Static<typeof UpdateSubscription>;

/** `isDryRun`: the endpoint may be missing, because it may not exist yet. */
export function newSubscriptionFields(
  input: Static<typeof CreateSubscription>,
  limits: Limits,
  isDryRun = false,
): SubscriptionFields {
  const fields = newSubscription({ name: '', endpoint_id: NONE });
  const made = changedSubscriptionFields(fields, input, limits);
  if (made.endpoint_id === NONE && !isDryRun) throw invalid('endpoint_id', 'is required');
  return made;
}

const NONE = asId<EndpointId>('');

export function changedSubscriptionFields(
  fields: SubscriptionFields,
  input: Input,
  limits: Limits,
): SubscriptionFields {
  const { retry_config, source_id } = input;
  const after: SubscriptionFields = {
    ...updated(fields, UpdateSubscription, {
      ...input,
      // Go clients send an empty text for fields they do not name. These three cannot be empty.
      name: input.name || undefined,
      endpoint_id: asId<EndpointId>(input.endpoint_id || input.app_id || NONE) || undefined,
      source_id: source_id && asId<SourceId>(source_id),
      delivery_mode: input.delivery_mode || undefined,
      alert_config: readGroup(AlertConfig, input.alert_config, 'alert_config'),
      rate_limit_config: readGroup(RateLimitConfig, input.rate_limit_config, 'rate_limit_config'),
      retry_config: retry_config && retryConfig(retry_config, limits),
      ordering: readGroup(Ordering, input.ordering, 'ordering'),
      batch: readGroup(Batch, input.batch, 'batch'),
    }),
    ...filterConfig(fields, input.filter_config),
  };
  checkFilterSize(after.filter, after.filters ?? []);
  return after;
}

/**
 * Replaced as a whole, like any other object. But a record keeps the conditions set through the filter routes
 * in scopes that are not named.
 */
function filterConfig(
  fields: SubscriptionFields,
  given: Input['filter_config'],
): Partial<SubscriptionFields> {
  if (given === undefined) return {};
  const conditions = readConditions(given.filter ?? {}, 'filter_config.filter');
  return {
    event_types: typesOrAll(given.event_types ?? []),
    filter: { ...noConditions(), ...conditions },
    filters: (fields.filters ?? []).map((record) => withoutOwn(record, conditions)),
  };
}

const typesOrAll = (given: readonly string[]): string[] => (given.length > 0 ? [...new Set(given)] : ['*']);

/**
 * Conditions of the subscription apply to all its records, so a record's own conditions in those scopes are
 * removed.
 */
function withoutOwn(record: FilterRecord, given: Partial<FilterConditions>): FilterRecord {
  const own = { ...record.own };
  for (const scope of filterScopes) if (given[scope] !== undefined) delete own[scope];
  return { ...record, own };
}

/** An empty object removes the setting. Omitted fields come from the project. */
function retryConfig(
  given: NonNullable<Input['retry_config']>,
  { config: { strategy }, retentionMs }: Limits,
): RetryConfig | null {
  if (Object.keys(given).length === 0) return null;
  const { schedule = [] } = given;
  if (schedule.length > 0) {
    const problem = scheduleProblem('retry_config.schedule', schedule, retentionMs);
    if (problem !== undefined) throw invalid(...problem);
    const { retries, ...shown } = describeSchedule(schedule);
    return { ...shown, retry_count: retries, schedule };
  }
  // A list has no parts that could be taken over.
  const usual = strategy.schedule.length > 0 ? CONVOY_STRATEGY : strategy;
  return {
    type: given.type || usual.type,
    duration: given.duration ? seconds(given.duration) : (given.interval_seconds ?? usual.duration),
    retry_count: given.retry_count ?? Math.max(0, usual.retry_count - 1),
  };
}

const MAX_SECONDS = 31_536_000;

function seconds(text: string): number {
  const ms = parseGoDuration(text);
  if (ms === null || ms < 0 || ms > MAX_SECONDS * 1000)
    throw invalid('retry_config.duration', 'must be a duration such as 10s or 1h3m, at most a year');
  return Math.round(ms / 1000);
}
