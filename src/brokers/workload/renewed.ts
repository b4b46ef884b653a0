/**
 * A value that ends, asked for again before it does. One question is under way at a time, and all who need the value wait
 * for it. If it fails, the old value is given while it lasts. After a failure the next question waits for a second.
 */
export interface Lasting<T> {
  value: T;
  expiresAtMs: number;
}

const RENEW_BEFORE_MS = 300_000;
const PAUSE_MS = 1_000;

export class Renewed<T> {
  readonly #ask: () => Promise<Lasting<T>>;
  readonly #now: () => number;
  #known: (Lasting<T> & { renewAtMs: number }) | null = null;
  #asking: Promise<T> | null = null;
  #failed: { error: unknown; untilMs: number } | null = null;

  constructor(ask: () => Promise<Lasting<T>>, now: () => number = Date.now) {
    this.#ask = ask;
    this.#now = now;
  }

  async get(): Promise<T> {
    const known = this.#known;
    if (known !== null && this.#now() < known.renewAtMs) return known.value;
    const failed = this.#failed;
    try {
      if (failed !== null && this.#now() < failed.untilMs) throw failed.error;
      this.#asking ??= this.#askNow().finally(() => {
        this.#asking = null;
      });
      return await this.#asking;
    } catch (error) {
      if (known !== null && this.#now() < known.expiresAtMs) return known.value;
      throw error;
    }
  }

  async #askNow(): Promise<T> {
    try {
      const { value, expiresAtMs } = await this.#ask();
      const now = this.#now();
      // One that lasts for a short time is renewed at half of it.
      const renewAtMs = Math.max(expiresAtMs - RENEW_BEFORE_MS, now + (expiresAtMs - now) / 2);
      this.#known = { value, expiresAtMs, renewAtMs };
      this.#failed = null;
      return value;
    } catch (error) {
      this.#failed = { error, untilMs: this.#now() + PAUSE_MS };
      throw error;
    }
  }
}
