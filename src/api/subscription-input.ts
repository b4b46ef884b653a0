import type { Static } from 'typebox';
import { parseGoDuration } from '../domain/duration.ts';
import { AppError } from '../domain/errors.ts';
import type { ProjectConfig } from '../domain/project-config.ts';
import {
  type FilterConditions,
  type FilterRecord,
  filterScopes,
  noConditions,
  type RetryConfig,
} from '../domain/subscription.ts';
import type { Queryable } from '../store/database.ts';
import type { ProjectRow } from '../store/projects.ts';
import { hasSubscription, type SubscriptionFields, type SubscriptionRow } from '../store/subscriptions.ts';
import type { ApiContext } from './context.ts';
import { invalid } from './fields.ts';
import { checkFilterSize, readConditions } from './filter-conditions.ts';
import type { CreateSubscription, UpdateSubscription } from './subscription-schema.ts';

type Input = Static<typeof CreateSubscription> | Static<typeof UpdateSubscription>;

export function newSubscriptionFields(
  input: Static<typeof CreateSubscription>,
  config: ProjectConfig,
): SubscriptionFields {
  const fields: SubscriptionFields = {
    name: input.name,
    type: 'api',
    status: 'active',
    endpoint_id: '',
    source_id: '',
    event_types: ['*'],
    filter: noConditions(),
    filters: [],
    function: '',
    delivery_mode: 'at_least_once',
    alert_config: null,
    rate_limit_config: null,
    retry_config: null,
  };
  const made = merged(fields, input, config);
  if (made.endpoint_id === '') throw invalid('endpoint_id', 'is required');
  return made;
}

/** Fields that stand in the request replace, an empty name or id counting as absent; all others stay. */
export function changedSubscriptionFields(
  row: SubscriptionRow,
  input: Static<typeof UpdateSubscription>,
  config: ProjectConfig,
): SubscriptionFields {
  return merged(row, input, config);
}

function merged(fields: SubscriptionFields, input: Input, config: ProjectConfig): SubscriptionFields {
  const eventTypes = input.filter_config?.event_types;
  const conditions = readConditions(input.filter_config?.filter ?? {}, 'filter_config.filter');
  const after: SubscriptionFields = {
    ...fields,
    name: input.name || fields.name,
    endpoint_id: input.endpoint_id || input.app_id || fields.endpoint_id,
    source_id: input.source_id || fields.source_id,
    event_types: eventTypes === undefined ? fields.event_types : typesOrAll(eventTypes),
    filter: { ...fields.filter, ...conditions },
    filters: (fields.filters ?? []).map((record) => withoutOwn(record, conditions)),
    function: input.function ?? fields.function,
    delivery_mode: input.delivery_mode || fields.delivery_mode,
    alert_config: input.alert_config ?? fields.alert_config,
    rate_limit_config: input.rate_limit_config ?? fields.rate_limit_config,
    retry_config: retryConfig(input.retry_config, fields.retry_config, config),
  };
  checkAlert(input.alert_config);
  checkFilterSize(after.filter, after.filters ?? []);
  return after;
}

const typesOrAll = (given: readonly string[]): string[] => (given.length > 0 ? [...new Set(given)] : ['*']);

/** Conditions given to the subscription hold for all its records: what a record had of its own there goes. */
function withoutOwn(record: FilterRecord, given: Partial<FilterConditions>): FilterRecord {
  const own = { ...record.own };
  for (const scope of filterScopes) if (given[scope] !== undefined) delete own[scope];
  return { ...record, own };
}

/** What retry_config leaves out is as it was, or at first as the project has it. */
function retryConfig(
  given: Input['retry_config'],
  known: RetryConfig | null,
  { strategy }: ProjectConfig,
): RetryConfig | null {
  if (given === undefined) return known;
  const base = known ?? {
    type: strategy.type,
    duration: strategy.duration,
    retry_count: Math.max(0, strategy.retry_count - 1),
  };
  return {
    type: given.type || base.type,
    duration: given.duration ? seconds(given.duration) : (given.interval_seconds ?? base.duration),
    retry_count: given.retry_count ?? base.retry_count,
  };
}

const MAX_SECONDS = 31_536_000;

function seconds(text: string): number {
  const ms = parseGoDuration(text);
  if (ms === null || ms < 0 || ms > MAX_SECONDS * 1000)
    throw invalid('retry_config.duration', 'must be a duration such as 10s or 1h3m, at most a year');
  return Math.round(ms / 1000);
}

function checkAlert(given: Input['alert_config']): void {
  if (given === undefined) return;
  const ms = parseGoDuration(given.threshold);
  if (ms === null || ms <= 0) throw invalid('alert_config.threshold', 'must be a duration such as 30s or 1h');
}

/** Where they change: endpoint and source must be there, the endpoint free if the project allows it one subscription. */
export async function checkLinks(
  context: ApiContext,
  tx: Queryable,
  change: { project: ProjectRow; fields: SubscriptionFields; known: SubscriptionRow | undefined },
): Promise<void> {
  const { project, fields, known } = change;
  const { endpoint_id, source_id } = fields;
  if (source_id !== '' && source_id !== known?.source_id) {
    if ((await context.sources.get(tx, project.id, source_id)) === undefined)
      throw new AppError('not_in_project', { field: 'source_id', resource: 'source', id: source_id });
  }
  if (endpoint_id === known?.endpoint_id) return;
  if ((await context.endpoints.get(tx, project.id, endpoint_id)) === undefined)
    throw new AppError('not_in_project', { field: 'endpoint_id', resource: 'endpoint', id: endpoint_id });
  if (project.config.multiple_endpoint_subscriptions) return;
  if (await hasSubscription(tx, project.id, endpoint_id))
    throw invalid('endpoint_id', 'the endpoint has a subscription, and this project allows one per endpoint');
}
