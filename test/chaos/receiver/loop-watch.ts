/**
 * How late we may have noticed something. The event loop reads arrivals once per turn, and a busy loop turns
 * slowly. A request on an existing connection is read in the first poll after its arrival. A request on a new
 * connection is read in the poll after the one that accepts the connection. The loop polls after each tick.
 * So a request noticed now arrived after the third last tick.
 *
 * The loop accepts one connection per turn and listener. A burst of connections waits for as many turns, and so
 * do their requests. Only a poll that accepts nothing shows that none waits.
 */
const TICK_MS = 5;

export class LoopWatch {
  /** The longest time between two ticks. */
  slowestMs = 0;
  readonly #ticks = [Date.now(), Date.now(), Date.now()];
  #noneWaitedAt = Date.now();
  #hasAccepted = false;
  readonly #timer = setInterval(() => {
    const tick = Date.now();
    this.#ticks.shift();
    this.#ticks.push(tick);
    this.slowestMs = Math.max(this.slowestMs, this.#ticks[2]! - this.#ticks[1]!);
    this.#hasAccepted = false;
    // It runs after the poll that follows this tick.
    setImmediate(() => {
      if (!this.#hasAccepted) this.#noneWaitedAt = tick;
    });
  }, TICK_MS);

  /** A request noticed now, not the first of its connection, arrived after this. */
  get lastLook(): number {
    return this.#ticks[0]!;
  }

  /** Call it for each new connection. The connection and its first request arrived after the time that it returns. */
  accepted(): number {
    this.#hasAccepted = true;
    return this.#noneWaitedAt;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
