import { type Clock, isEven } from '../../platform/time/clock.ts';
import { FRESH_SECONDS } from '../../store/database/node-lease.ts';

/**
 * Whether this node may still send. Other nodes take its rows after SILENT_SECONDS of silence. So it starts
 * no send unless its last confirmed heartbeat is younger than that with a margin, by the monotonic clock and
 * by the wall clock. The first stops while a machine sleeps, the second can be set. Once they differ, nothing is sent before
 * the next heartbeat.
 */
const FRESH_MS = FRESH_SECONDS * 1000;

export class Lease {
  readonly #clock: Clock;
  #beatAt = Number.NEGATIVE_INFINITY;
  #beatElapsed = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A heartbeat sent at these times was confirmed. */
  confirmed(sentAt: number, sentElapsed: number): void {
    this.#beatAt = sentAt;
    this.#beatElapsed = sentElapsed;
  }

  isFresh(): boolean {
    const wall = this.#clock.now() - this.#beatAt;
    const elapsed = this.#clock.elapsed() - this.#beatElapsed;
    return elapsed < FRESH_MS && wall < FRESH_MS && isEven(wall, elapsed);
  }
}
