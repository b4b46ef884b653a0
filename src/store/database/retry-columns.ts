import type { RetryPolicy } from '../../domain/delivery.ts';
import type { Column } from './parameters.ts';

/** The retry policy of a delivery or meta event, as its row has it. */
export interface RetryColumns {
  strategy: RetryPolicy['strategy'];
  interval_seconds: number;
  max_retry_seconds: number;
  retry_limit: number;
}

export const retryColumns: readonly Column<{ retry: RetryPolicy }>[] = [
  ['strategy', 'id', ({ retry }) => retry.strategy],
  ['interval_seconds', 'int', ({ retry }) => retry.intervalSeconds],
  ['max_retry_seconds', 'int', ({ retry }) => retry.maxRetrySeconds],
  ['retry_limit', 'int', ({ retry }) => retry.retryLimit],
];

export function retryOf(row: RetryColumns): RetryPolicy {
  return {
    strategy: row.strategy,
    intervalSeconds: row.interval_seconds,
    maxRetrySeconds: row.max_retry_seconds,
    retryLimit: row.retry_limit,
  };
}
