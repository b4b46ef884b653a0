import type { RetryPolicy } from '../../domain/delivery.ts';
import type { Column } from './parameters.ts';

/** The retry policy of a delivery or meta event, as its row has it. */
export interface RetryColumns {
  strategy: RetryPolicy['strategy'];
  interval_seconds: number;
  max_retry_seconds: number;
  retry_limit: number;
  retry_schedule: string | null;
}

/** No character that an array of PostgreSQL has to quote. */
const BETWEEN = '+';

export const retryColumns: readonly Column<{ retry: RetryPolicy }>[] = [
  ['is_exponential', 'bool', ({ retry }) => retry.strategy === 'exponential'],
  ['interval_seconds', 'int', ({ retry }) => retry.intervalSeconds],
  ['max_retry_seconds', 'int', ({ retry }) => retry.maxRetrySeconds],
  ['retry_limit', 'int', ({ retry }) => retry.retryLimit],
  ['retry_schedule', 'id', ({ retry }) => retry.schedule?.join(BETWEEN) ?? null],
];

/** The select list of `RetryColumns`, of a row with this alias. */
export const retryFields = (row: string): string =>
  `case when ${row}.is_exponential then 'exponential' else 'linear' end as strategy,
  ${row}.interval_seconds, ${row}.max_retry_seconds, ${row}.retry_limit, ${row}.retry_schedule`;

/** How often a delivery may be sent, of a row with this alias. */
export const modeField = (row: string): string =>
  `case when ${row}.is_at_most_once then 'at_most_once' else 'at_least_once' end as delivery_mode`;

export function retryOf(row: RetryColumns): RetryPolicy {
  return {
    strategy: row.strategy,
    intervalSeconds: row.interval_seconds,
    maxRetrySeconds: row.max_retry_seconds,
    retryLimit: row.retry_limit,
    schedule: row.retry_schedule?.split(BETWEEN).map(Number) ?? null,
  };
}
