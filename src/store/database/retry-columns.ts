import { STANDARD_SCHEDULE, scheduleSeconds } from '../../domain/config/retry-schedule.ts';
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
/** Most rows have the list of new projects. Its name takes a fifth of the room, in a table that grows with traffic. */
const STANDARD = 'standard';
const standardText = scheduleSeconds(STANDARD_SCHEDULE).join(BETWEEN);
/** A list is one object in all deliveries of its subscription. */
const texts = new WeakMap<readonly number[], string>();

function textOf(schedule: readonly number[]): string {
  const known = texts.get(schedule);
  if (known !== undefined) return known;
  const text = schedule.join(BETWEEN);
  texts.set(schedule, text === standardText ? STANDARD : text);
  return textOf(schedule);
}

const scheduleOf = (text: string): number[] =>
  (text === STANDARD ? standardText : text).split(BETWEEN).map(Number);

export const retryColumns: readonly Column<{ retry: RetryPolicy }>[] = [
  ['is_exponential', 'bool', ({ retry }) => retry.strategy === 'exponential'],
  ['interval_seconds', 'int', ({ retry }) => retry.intervalSeconds],
  ['max_retry_seconds', 'int', ({ retry }) => retry.maxRetrySeconds],
  ['retry_limit', 'int', ({ retry }) => retry.retryLimit],
  ['retry_schedule', 'id', ({ retry }) => retry.schedule && textOf(retry.schedule)],
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
    schedule: row.retry_schedule === null ? null : scheduleOf(row.retry_schedule),
  };
}
