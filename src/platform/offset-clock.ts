import type { Clock } from './clock.ts';

/** A clock that follows another one by a measured offset: the database's time as seen from here. */
export class OffsetClock {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now = (): number => this.#clock.now() + this.#offsetMs;

  /** The other clock said `theirs` at some moment between our `sentAt` and now; the middle is the best guess. */
  measured(theirs: number, sentAt: number): void {
    this.#offsetMs = theirs - (sentAt + this.#clock.now()) / 2;
  }
}
