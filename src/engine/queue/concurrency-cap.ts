/**
 * How many requests one endpoint gets at a time from this node. It grows by one with each success and halves
 * when the endpoint shows strain (a timeout, 429 or 5xx), but at most once in half a second, because a burst
 * of failures sent under the old cap is one signal.
 */
const START = 32;
const LEAST = 1;
const HALVE_EVERY_MS = 500;

export class ConcurrencyCap {
  #max: number;
  #cap: number;
  #halvedAt = Number.NEGATIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
    this.#cap = Math.min(START, max);
  }

  /** The most of it, which the kind of the endpoint decides. */
  limit(max: number): void {
    this.#max = max;
    this.#cap = Math.min(max, this.#cap);
  }

  get value(): number {
    return Math.floor(this.#cap);
  }

  succeeded(): void {
    this.#cap = Math.min(this.#max, this.#cap + 1);
  }

  strained(nowMs: number): void {
    if (nowMs - this.#halvedAt < HALVE_EVERY_MS) return;
    this.#halvedAt = nowMs;
    this.#cap = Math.max(LEAST, this.#cap / 2);
  }

  /** After a breaker closed: one at a time again. */
  restart(): void {
    this.#cap = LEAST;
  }
}
