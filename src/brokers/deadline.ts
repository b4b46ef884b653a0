import { ExchangeFailure } from '../dispatch/connection/outcome.ts';
import type { Turn } from '../dispatch/connection/turn.ts';

/** The time limit of one message. It stands still while the message waits for its turn. */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #ended = Promise.withResolvers<never>();
  #timer: NodeJS.Timeout | undefined;
  #doing = '';

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#ended.promise.catch(() => undefined);
    this.#start();
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted === true) this.#abort();
  }

  /** `doing`: the sentence of a timeout begins with it. */
  limit<T>(work: Promise<T>, doing: string): Promise<T> {
    this.#doing = doing;
    work.catch(() => undefined);
    return Promise.race([work, this.#ended.promise]);
  }

  /** Resolves when the message may go: true if it had to wait. */
  async turn(turn: Turn): Promise<boolean> {
    let hasWaited = false;
    for (;;) {
      const answer = turn.take();
      if (answer === 'never') throw new ExchangeFailure('aborted', 'the message was given up', true);
      if (answer === 'now') break;
      hasWaited = true;
      clearTimeout(this.#timer);
      await this.#wait(turn);
    }
    if (hasWaited) this.#start();
    return hasWaited;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  async #wait(turn: Turn): Promise<void> {
    const again = Promise.withResolvers<void>();
    const stop = turn.wait(again.resolve);
    try {
      await Promise.race([again.promise, this.#ended.promise]);
    } catch (error) {
      stop();
      throw error;
    }
  }

  #start(): void {
    this.#timer = setTimeout(() => {
      const message = `${this.#doing} within ${this.#timeoutMs} ms.`;
      this.#ended.reject(new ExchangeFailure('timeout', message));
    }, this.#timeoutMs);
  }

  readonly #abort = (): void =>
    this.#ended.reject(new ExchangeFailure('aborted', 'the message was aborted', true));
}
