import { parseGoDuration } from '../../platform/time/duration.ts';
import { Text, Type } from '../../platform/type.ts';

const MAX_STEPS = 100;

/** The wait before each retry, as a list. Empty: there is none, and type, duration and number say how to retry. */
export const RetrySchedule = Type.Array(Text(32), {
  maxItems: MAX_STEPS,
  description:
    'The wait before each retry, such as `["5s", "5m", "2h"]`, up to 20 % longer at random. Replaces the other fields, which then describe it.',
});

/** As Standard Webhooks recommends it: ten tries in about three days. Rows name it (see retry-columns.ts), so it never changes. */
export const STANDARD_SCHEDULE = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'];

/** The fields of the interface under a list: clients know no third type, and show the first wait and the number. */
interface Described {
  type: 'exponential';
  /** Whole seconds of the first wait. */
  duration: number;
  retries: number;
}

export const scheduleSeconds = (schedule: readonly string[]): number[] =>
  schedule.map((step) => (parseGoDuration(step) ?? 0) / 1000);

export function describeSchedule(schedule: readonly string[]): Described {
  const [first = 0] = scheduleSeconds(schedule);
  return { type: 'exponential', duration: Math.ceil(first), retries: schedule.length };
}

/**
 * The field and what is wrong with it. Later retries would find neither the event nor its attempts, so the waits end within
 * the retention.
 */
export function scheduleProblem(
  field: string,
  schedule: readonly string[],
  retentionMs: number,
): [field: string, problem: string] | undefined {
  for (const [index, step] of schedule.entries())
    if ((parseGoDuration(step) ?? 0) < 1)
      return [`${field}.${index}`, 'must be a duration of at least 1ms, such as 10s or 1h3m'];
  const totalMs = scheduleSeconds(schedule).reduce((sum, seconds) => sum + seconds * 1000, 0);
  if (totalMs <= retentionMs) return undefined;
  return [
    field,
    `waits for ${hours(totalMs)} h in total, longer than the retention of ${hours(retentionMs)} h`,
  ];
}

/** The steps that end within the retention. */
export function stepsWithin(schedule: readonly string[], retentionMs: number): string[] {
  let totalMs = 0;
  return schedule.filter((step) => {
    totalMs += parseGoDuration(step) ?? 0;
    return totalMs <= retentionMs;
  });
}

const hours = (ms: number): number => Math.round(ms / 36_000) / 100;
