import { AppError } from '../../domain/errors.ts';

/** Calls per key in the current second, on this node. */
export class CallRate {
  readonly #limit: number;
  readonly #calls = new Map<string, number>();
  #secondEndsAt = 0;

  constructor(callsPerSecond: number) {
    this.#limit = callsPerSecond;
  }

  count(keyId: string): void {
    if (this.#limit === 0) return;
    const now = performance.now();
    if (now >= this.#secondEndsAt) {
      this.#calls.clear();
      this.#secondEndsAt = now + 1_000;
    }
    const calls = (this.#calls.get(keyId) ?? 0) + 1;
    if (calls > this.#limit)
      throw new AppError('rate_limited', { limit: this.#limit, duration: 1, retry: 1 });
    this.#calls.set(keyId, calls);
  }
}
