import { FRESH_SECONDS } from '../../domain/node-lease.ts';
import type { Clock } from '../../platform/clock.ts';

/**
 * Whether this node may still send. Its rows are taken over once it has been silent for SILENT_SECONDS, so it
 * starts no send unless its last confirmed beat is younger than that with room to spare, by the monotonic clock
 * and by the wall clock: the first stops while a machine sleeps, the second can be set back.
 */
const FRESH_MS = FRESH_SECONDS * 1000;

export class Lease {
  readonly #clock: Clock;
  #beatAt = Number.NEGATIVE_INFINITY;
  #beatElapsed = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A beat was confirmed that had been sent at these times. */
  confirmed(sentAt: number, sentElapsed: number): void {
    this.#beatAt = sentAt;
    this.#beatElapsed = sentElapsed;
  }

  isFresh(): boolean {
    const wall = this.#clock.now() - this.#beatAt;
    return this.#clock.elapsed() - this.#beatElapsed < FRESH_MS && wall < FRESH_MS && wall > -FRESH_MS;
  }
}
