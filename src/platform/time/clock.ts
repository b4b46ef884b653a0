import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time as the program sees it; passed in so that tests can own it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Monotonic milliseconds, for measuring, never for storing. They stop while the machine sleeps. */
  elapsed(): number;
  /** Milliseconds since the machine started, its sleep included, by steps of 10. */
  uptime(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `run` once, `ms` from now. Returns what cancels the call. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  uptime: () => uptime() * 1000,
  sleep,
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** More than a clock that NTP slews is off between two beats. */
const MOST_APART_MS = 1_000;

/** Whether as much time has passed by the wall clock as by the monotonic clock. Otherwise one was set, or the machine slept. */
export function isEven(wallMs: number, elapsedMs: number): boolean {
  return Math.abs(wallMs - elapsedMs) <= MOST_APART_MS;
}
