export interface RetryPolicy {
  type: 'linear' | 'exponential';
  /** The first wait, in seconds. */
  duration: number;
  /** Attempts after the first. */
  retry_count: number;
  /** The wait before each retry. Empty or absent: the other fields say it. */
  schedule?: readonly string[];
}

/** An instance may set another with POSTHORN_MAX_RETRY_SECONDS. */
const MAX_WAIT_SECONDS = 7200;

/** The seconds after the first attempt at which each attempt is due, without what chance adds to waits. */
export function attemptTimes({ type, duration, retry_count, schedule = [] }: RetryPolicy): number[] {
  const times = [0];
  let at = 0;
  const retries = schedule.length || retry_count;
  for (let retry = 0; retry < retries; retry++) {
    const listed = schedule[retry];
    if (listed !== undefined) at += secondsOf(listed);
    else at += type === 'linear' ? duration : Math.min(duration * 2 ** retry, MAX_WAIT_SECONDS);
    times.push(at);
  }
  return times;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** Seconds of a duration such as 1h30m. What the service would refuse counts as nothing while it is typed. */
function secondsOf(duration: string): number {
  const terms = duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g);
  return [...terms].reduce(
    (sum, [, number, unit = '']) => sum + Number(number) * (UNIT_SECONDS[unit] ?? 0),
    0,
  );
}

/** The waits of a list as it is typed: 5s, 5m 2h. */
export const typedSchedule = (text: string): string[] => text.split(/[\s,]+/).filter((step) => step !== '');
