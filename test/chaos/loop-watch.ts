/**
 * How late we may have noticed something. The event loop reads arrivals once per turn, and a busy loop turns
 * slowly. A request on an existing connection is read in the first poll after its arrival. A request on a new
 * connection is read in the second, because the first accepts the connection. The loop polls after each tick.
 * So a request noticed now arrived after the third last tick.
 */
const TICK_MS = 5;

export class LoopWatch {
  /** The longest time between two ticks. */
  slowestMs = 0;
  readonly #ticks = [Date.now(), Date.now(), Date.now()];
  readonly #timer = setInterval(() => {
    this.#ticks.shift();
    this.#ticks.push(Date.now());
    this.slowestMs = Math.max(this.slowestMs, this.#ticks[2]! - this.#ticks[1]!);
  }, TICK_MS);

  /** A request noticed now arrived after this. */
  get lastLook(): number {
    return this.#ticks[0]!;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
