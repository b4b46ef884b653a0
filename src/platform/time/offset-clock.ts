import type { Clock } from './clock.ts';

/**
 * A clock that follows another one by a measured offset: the database's time as seen from this node.
 *
 * The other clock was read at some moment of a round trip, so a measurement gives an interval for the offset, as wide as
 * the round trip. The middle of the shortest one is the estimate. A longer one moves the estimate only as far as it
 * must, so a commit that waits for the disk does not shift the clock. The shortest one ages, because clocks drift.
 */
const AGEING = 1.1;
const SHORTEST_MS = 1;

export class OffsetClock {
  readonly #clock: Pick<Clock, 'now'>;
  #offsetMs = 0;
  #shortestMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  now = (): number => this.#clock.now() + this.#offsetMs;

  /** The other clock read `theirs` at some moment between our `sentAt` and now. */
  measured(theirs: number, sentAt: number): void {
    const now = this.#clock.now();
    const roundTripMs = now - sentAt;
    // Our clock was set back in between, so this says nothing.
    if (roundTripMs < 0) return;
    if (roundTripMs <= this.#shortestMs) {
      this.#shortestMs = Math.max(roundTripMs, SHORTEST_MS);
      this.#offsetMs = theirs - (sentAt + now) / 2;
    } else {
      this.#shortestMs *= AGEING;
      this.#offsetMs = Math.min(Math.max(this.#offsetMs, theirs - now), theirs - sentAt);
    }
  }
}
