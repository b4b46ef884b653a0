/**
 * How late we may have noticed something. The event loop takes in what has arrived once per turn, and a busy loop
 * turns slowly. A request on a connection that was there is read in the first look after its arrival; one on a new
 * connection in the second, since the first accepts the connection. The loop looks after each tick. So what is noticed
 * now arrived after the third last tick.
 */
const TICK_MS = 5;

export class LoopWatch {
  /** The longest between two ticks. */
  slowestMs = 0;
  readonly #ticks = [Date.now(), Date.now(), Date.now()];
  readonly #timer = setInterval(() => {
    this.#ticks.shift();
    this.#ticks.push(Date.now());
    this.slowestMs = Math.max(this.slowestMs, this.#ticks[2]! - this.#ticks[1]!);
  }, TICK_MS);

  /** What is noticed now arrived after this. */
  get lastLook(): number {
    return this.#ticks[0]!;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
