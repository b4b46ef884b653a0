/**
 * How late we may have noticed something. The event loop takes in what has arrived once per turn, and a busy loop
 * turns slowly. What is noticed now was not there when the loop last looked, and it looked at the last tick but one
 * at the earliest. So an arrival lies between `lastLook` and now.
 */
const TICK_MS = 5;

export class LoopWatch {
  /** The longest between two ticks. */
  slowestMs = 0;
  #last = Date.now();
  #lastButOne = this.#last;
  readonly #timer = setInterval(() => {
    this.#lastButOne = this.#last;
    this.#last = Date.now();
    this.slowestMs = Math.max(this.slowestMs, this.#last - this.#lastButOne);
  }, TICK_MS);

  get lastLook(): number {
    return this.#lastButOne;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
