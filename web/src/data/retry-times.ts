export interface RetryPolicy {
  type: 'linear' | 'exponential';
  /** The first wait, in seconds. */
  duration: number;
  /** Attempts after the first. */
  retry_count: number;
}

/** An instance may set another with POSTHORN_MAX_RETRY_SECONDS. */
const MAX_WAIT_SECONDS = 7200;

/** The seconds after the first attempt at which each attempt is due, without what chance adds to exponential waits. */
export function attemptTimes({ type, duration, retry_count }: RetryPolicy): number[] {
  const times = [0];
  let at = 0;
  for (let retry = 0; retry < retry_count; retry++) {
    at += type === 'linear' ? duration : Math.min(duration * 2 ** retry, MAX_WAIT_SECONDS);
    times.push(at);
  }
  return times;
}
