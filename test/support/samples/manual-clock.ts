import type { Clock } from '../../../src/platform/time/clock.ts';
import { NOON } from './leased-delivery.ts';

interface Timer {
  at: number;
  run(): void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  #wall = NOON;
  #sleptMs = 0;

  now(): number {
    return this.#wall;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  uptime(): number {
    return this.#elapsed + this.#sleptMs;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#elapsed + Math.max(0, ms), run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers wait. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Moves both clocks on. Timers run in order, each at its time, and what they set off runs before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    await settle();
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.#moveTo(next.at);
      next.run();
      await settle();
    }
    this.#moveTo(end);
  }

  /** The wall clock is set. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** The machine sleeps. The monotonic clock stands still. */
  doze(ms: number): void {
    this.jump(ms);
    this.#sleptMs += ms;
  }

  #moveTo(elapsed: number): void {
    this.#wall += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }
}

/** Lets promises and immediates run that need no time. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 3; n += 1) await new Promise((resolve) => setImmediate(resolve));
}
