/** At most `count` sends in any interval of `durationMs`. */
export interface RateLimit {
  count: number;
  durationMs: number;
}

/** Null, no limit, if either number is zero. */
export function rateLimit(count: number, durationSeconds: number): RateLimit | null {
  return count > 0 && durationSeconds > 0 ? { count, durationMs: durationSeconds * 1000 } : null;
}

/**
 * Added to each interval. A receiver sees two requests closer together than they were sent if the first was delayed on
 * its way, by milliseconds on a busy machine. Clocks drift too (500 ppm at most). It costs 1.1 % of a limit per second.
 */
export const slackMs = (durationMs: number): number => 10 + durationMs / 1000;

/** Slack, so that the list is not copied for every send. */
const SPARE = 64;

/**
 * The sends of one limit by one clock: an exact sliding window. A send may start when the send `count` places
 * before it is a full interval old. Fixed windows or token buckets would allow up to twice the count. It
 * stores only times, so earlier sends still count after a change of the limit.
 */
export class SendWindow {
  /** Ascending. */
  #times: number[];
  /** How many of the last sends are not yet known to be written. */
  #unwritten = 0;

  constructor(times: readonly number[] = []) {
    this.#times = [...times];
  }

  get lastAt(): number {
    return this.#times.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** The earliest start of the send `place` places from now. 1 is the next one. */
  startAt({ count, durationMs }: RateLimit, place: number, now: number): number {
    const apartMs = durationMs + slackMs(durationMs);
    // Going back `count` places at a time, this many steps reach a send that has happened.
    const steps = Math.ceil(place / count);
    const made = this.#times[this.#times.length + place - 1 - steps * count] ?? Number.NEGATIVE_INFINITY;
    return Math.max(now, made + apartMs) + (steps - 1) * apartMs;
  }

  /** A send starts. `at` is not before any earlier one. */
  add({ count }: RateLimit, at: number): void {
    this.#times.push(at);
    this.#unwritten += 1;
    // Sends more than `count` places back block nothing.
    if (this.#times.length > 2 * count + SPARE) this.#times = this.#times.slice(-count);
  }

  /** The sends since the last call are written by now, possibly later than they were added. */
  written(at: number): void {
    this.#times.fill(at, Math.max(0, this.#times.length - this.#unwritten));
    this.#unwritten = 0;
  }

  /** The age of each send that may still block others, oldest first. */
  ages({ count }: RateLimit, now: number): number[] {
    return this.#times.slice(-count).map((at) => now - at);
  }
}
