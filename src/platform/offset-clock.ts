import type { Clock } from './clock.ts';

/** A clock that follows another one by a measured offset: the database's time as seen from this node. */
export class OffsetClock {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now = (): number => this.#clock.now() + this.#offsetMs;

  /** The other clock read `theirs` at some moment between our `sentAt` and now. The middle is the best estimate. */
  measured(theirs: number, sentAt: number): void {
    this.#offsetMs = theirs - (sentAt + this.#clock.now()) / 2;
  }
}
