import { type Clock, systemClock } from './time/clock.ts';

/**
 * One turn of work after another, from a start to a stop.
 *
 *   new     -> nothing runs. A wake is remembered until the start.
 *   waiting -> the next turn begins `everyMs` after the last one ended, or with a wake.
 *   running -> one turn at a time. A wake during a turn makes the next one follow at once.
 *   stopped -> for good. The stop resolves when the running turn has ended.
 *
 * A turn begins after the code that woke the loop has returned, so wake-ups of one moment share a turn. A turn
 * that throws is reported, and the loop goes on.
 */
export interface LoopOptions {
  /** The signal fires with the stop, so that a long turn can end early. */
  turn(signal: AbortSignal): Promise<void> | void;
  onError(error: unknown): void;
  /** Absent: a turn follows a wake only. */
  everyMs?: number;
  clock?: Clock;
}

export class Loop {
  readonly #options: LoopOptions;
  readonly #clock: Clock;
  #state: 'new' | 'started' | 'stopped' = 'new';
  readonly #stop = new AbortController();
  #isWoken = false;
  #running: Promise<void> | undefined;
  #cancelWait: (() => void) | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get isStopped(): boolean {
    return this.#state === 'stopped';
  }

  /** The first turn begins after `everyMs`, or with a wake. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'started';
    this.#next();
  }

  wake(): void {
    this.#isWoken = true;
    if (this.#running === undefined) this.#next();
  }

  /** A turn must not wait for this: it would wait for itself. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#stop.abort();
    this.#cancelWait?.();
    await this.#running;
  }

  #next(): void {
    if (this.#state !== 'started') return;
    this.#cancelWait?.();
    const { everyMs } = this.#options;
    if (this.#isWoken) this.#begin();
    else if (everyMs !== undefined) this.#cancelWait = this.#clock.after(everyMs, () => this.#begin());
  }

  #begin(): void {
    this.#running = this.#turn().finally(() => {
      this.#running = undefined;
      this.#next();
    });
  }

  async #turn(): Promise<void> {
    await Promise.resolve();
    if (this.isStopped) return;
    this.#isWoken = false;
    try {
      await this.#options.turn(this.#stop.signal);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
