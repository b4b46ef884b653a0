import type { ReceivedMessage } from '../module/broker-module.ts';

/** Messages that are stored together, as many as fit. */
const MAX_MESSAGES = 500;
const MAX_BYTES = 1_048_576;

export class Lot {
  readonly #store: (messages: readonly ReceivedMessage[]) => Promise<unknown>;
  #messages: ReceivedMessage[] = [];
  #bytes = 0;

  constructor(store: (messages: readonly ReceivedMessage[]) => Promise<unknown>) {
    this.#store = store;
  }

  async add(message: ReceivedMessage): Promise<void> {
    this.#messages.push(message);
    this.#bytes += message.body.length;
    if (this.#messages.length >= MAX_MESSAGES || this.#bytes >= MAX_BYTES) await this.store();
  }

  /** Stores what is in it. */
  async store(): Promise<void> {
    if (this.#messages.length === 0) return;
    const messages = this.#messages;
    this.#messages = [];
    this.#bytes = 0;
    await this.#store(messages);
  }
}
