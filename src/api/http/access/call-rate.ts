import { AppError } from '../../../domain/errors.ts';

/** Calls per key in the current second, or longer window, on this node. */
export class CallRate {
  readonly #limit: number;
  readonly #seconds: number;
  readonly #calls = new Map<string, number>();
  #endsAt = 0;

  constructor(limit: number, seconds = 1) {
    this.#limit = limit;
    this.#seconds = seconds;
  }

  count(keyId: string): void {
    if (this.#limit === 0) return;
    const now = performance.now();
    if (now >= this.#endsAt) {
      this.#calls.clear();
      this.#endsAt = now + this.#seconds * 1_000;
    }
    const calls = (this.#calls.get(keyId) ?? 0) + 1;
    const retry = Math.ceil((this.#endsAt - now) / 1_000);
    if (calls > this.#limit)
      throw new AppError('rate_limited', { limit: this.#limit, duration: this.#seconds, retry });
    this.#calls.set(keyId, calls);
  }
}
