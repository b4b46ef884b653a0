import { expect } from 'vitest';
import type { ApiClient } from './client.ts';
import type { TestDatabase } from './database.ts';
import { atLeast, eventually, happened } from './eventually.ts';
import type { Received, Receiver } from './servers/receiver.ts';

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
    await eventually(() => this.#accepted, atLeast(wanted));
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

/** Every number from 0 has arrived. */
export async function expectArrived(requests: () => Received[], accepted: number): Promise<void> {
  const numbers = () => new Set(requests().map(({ json }) => (json as { number: number }).number));
  await eventually(async () => numbers().size, atLeast(accepted));
  expect([...numbers()].toSorted((a, b) => a - b)).toEqual(Array.from({ length: accepted }, (_, i) => i));
}

/** Every number from 0 has arrived, and no delivery is open. */
export async function expectAll(
  { receiver, database }: { receiver: Receiver; database: TestDatabase },
  accepted: number,
): Promise<void> {
  await expectArrived(() => receiver.requests, accepted);
  await eventually(
    () => database.query("select id, status from event_deliveries where status <> 'Success'"),
    { length: 0 },
  );
}
