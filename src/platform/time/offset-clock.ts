import { type Clock, isEven } from './clock.ts';

/**
 * The clock of another machine as seen from this process: the database's time, carried on by the monotonic clock. The wall
 * clock of this machine has no part in it. It only bears witness: once it and the monotonic clock have gone apart, one of
 * them was set, or the machine slept, and the time is not sure until the next measurement.
 *
 * The other clock was read at some moment of a round trip, so a measurement gives an interval for the offset, as wide as
 * the round trip. The middle of the shortest one is the estimate. A longer one moves the estimate only as far as it
 * must, so a commit that waits for the disk does not shift the clock. The shortest one ages, because clocks drift.
 *
 *   set back -> the other clock is followed at once;
 *   ahead    -> by more than a second, and this machine did not sleep: it is followed by as much as it was ahead for a whole
 *               minute. A clock that is set wrong for some seconds is not followed. A pause of a virtual machine that none
 *               of its clocks shows is taken for that.
 */
const AGEING = 1.1;
const SHORTEST_MS = 1;
const AT_ONCE_MS = 1_000;
const LASTS_MS = 60_000;
/** Events wait as long for the database. */
const LONGEST_WAIT_MS = 3_000;

/** A sudden change of the other clock. */
export interface ClockChange {
  kind: 'ahead' | 'followed' | 'set back';
  ms: number;
}

export class OffsetClock {
  readonly #clock: Omit<Clock, 'after'>;
  #offsetMs = Number.NaN;
  #shortestMs = Number.POSITIVE_INFINITY;
  /** As of the last measurement. */
  #measured = { wall: Number.NaN, elapsed: Number.NaN, sleptMs: 0 };
  /** The least that the other clock was ahead of ours since then. */
  #ahead: { ms: number; since: number } | null = null;
  #next = Promise.withResolvers<void>();
  #onDoubt: () => void = () => {};

  constructor(clock: Omit<Clock, 'after'>) {
    this.#clock = clock;
  }

  now = (): number => this.#clock.elapsed() + this.#offsetMs;

  /** How far the other clock is ahead, where it is not followed yet. */
  get aheadMs(): number {
    return this.#ahead?.ms ?? 0;
  }

  /** Whether our clocks have gone on evenly since the last measurement. */
  isSure(): boolean {
    const { wall, elapsed } = this.#measured;
    return isEven(this.#clock.now() - wall, this.#clock.elapsed() - elapsed);
  }

  /** Waits for the next measurement where our clocks differ, but not for long. False: there was none. */
  async becomesSure(): Promise<boolean> {
    if (this.isSure()) return true;
    this.#onDoubt();
    await Promise.race([this.#next.promise, this.#clock.sleep(LONGEST_WAIT_MS)]);
    return this.isSure();
  }

  /** `measure` is called where the time is wanted and is not sure. */
  onDoubt(measure: () => void): void {
    this.#onDoubt = measure;
  }

  /** The other clock read `theirs` at some moment between these times of ours and now. */
  measured(theirs: number, sentAt: number, sentElapsed: number): ClockChange | null {
    const elapsed = this.#clock.elapsed();
    // Our clocks differ by what came in between, so this says nothing.
    if (!isEven(this.#clock.now() - sentAt, elapsed - sentElapsed)) return null;
    const sleptMs = this.#clock.uptime() - elapsed;
    const least = theirs - elapsed;
    const aheadMs = least - this.#offsetMs;
    // Our clock stood still in a sleep.
    const isJump = aheadMs > AT_ONCE_MS + sleptMs - this.#measured.sleptMs;
    this.#measured = { wall: sentAt, elapsed: sentElapsed, sleptMs };
    const change = isJump ? this.#jumped(aheadMs, elapsed) : this.#adjust(least, theirs - sentElapsed);
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
    return change;
  }

  #jumped(aheadMs: number, elapsed: number): ClockChange | null {
    const before = this.#ahead;
    const ms = Math.min(aheadMs, before?.ms ?? aheadMs);
    this.#ahead = { ms, since: before?.since ?? elapsed };
    if (elapsed - this.#ahead.since < LASTS_MS) return before === null ? { kind: 'ahead', ms } : null;
    this.#ahead = null;
    this.#offsetMs += ms;
    return { kind: 'followed', ms };
  }

  #adjust(least: number, most: number): ClockChange | null {
    const before = this.#offsetMs;
    const roundTripMs = most - least;
    this.#ahead = null;
    if (roundTripMs <= this.#shortestMs) {
      this.#shortestMs = Math.max(roundTripMs, SHORTEST_MS);
      this.#offsetMs = (least + most) / 2;
    } else {
      this.#shortestMs *= AGEING;
      this.#offsetMs = Math.min(Math.max(this.#offsetMs, least), most);
    }
    const ms = before - this.#offsetMs;
    return ms > AT_ONCE_MS ? { kind: 'set back', ms } : null;
  }
}
