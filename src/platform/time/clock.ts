import { setTimeout as sleep } from 'node:timers/promises';

/** Time as the program sees it; passed in so that tests can own it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Monotonic milliseconds, for measuring, never for storing. */
  elapsed(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `run` once, `ms` from now. Returns what cancels the call. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep,
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
