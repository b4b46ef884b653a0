import type { ApiClient } from './client.ts';
import { eventually, happened } from './eventually.ts';

/** Sends numbered events one after another until stopped. Each must be answered 201, or `stop` fails. */
export class EventStream {
  readonly #client: Pick<ApiClient, 'post'>;
  readonly #sending: Promise<void>;
  #accepted = 0;
  #isStopped = false;

  constructor(client: Pick<ApiClient, 'post'>) {
    this.#client = client;
    this.#sending = this.#send();
    // stop() reports the error.
    this.#sending.catch(() => {});
  }

  /** The number of answered events. Their numbers are 0, 1, 2 and so on. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Resolves once that many more are answered. */
  async more(count: number): Promise<void> {
    const wanted = this.#accepted + count;
    await eventually(
      () => this.#accepted,
      (accepted) => accepted >= wanted,
    );
  }

  async stop(): Promise<number> {
    this.#isStopped = true;
    await this.#sending;
    return this.#accepted;
  }

  async #send(): Promise<void> {
    while (!this.#isStopped) {
      const data = { number: this.#accepted };
      await this.#client.post('/events/broadcast', { event_type: 'numbered', data });
      this.#accepted += 1;
      happened();
    }
  }
}
