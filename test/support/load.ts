import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { ApiClient } from './client.ts';

/**
 * Broadcasts over a bounded number of keep-alive connections until `count` were accepted or `stop` is called.
 * A request that is not answered 201 is sent again, so that the load continues as soon as the service does.
 */
export class Load {
  /** Ids of the events answered 201. */
  readonly accepted = new Set<string>();
  /** Answers other than 201, by status; `lost` if the connection broke. */
  readonly refused = new Map<number | 'lost', number>();
  readonly done: Promise<void>;
  readonly #count: number;
  readonly #pools: Pool[];
  readonly #request: { path: string; method: 'POST'; headers: Record<string, string> };
  readonly #waiters: { count: number; resolve(): void }[] = [];
  #sent = 0;
  #stopped = false;

  constructor(clients: ApiClient[], count: number, connections = 32) {
    const [first] = clients as [ApiClient];
    this.#count = count;
    this.#pools = clients.map(({ base }) => new Pool(new URL(base).origin, { connections, pipelining: 1 }));
    this.#request = {
      path: `${new URL(first.base).pathname}/events/broadcast`,
      method: 'POST',
      headers: { authorization: first.key, 'content-type': 'application/json' },
    };
    const workers = this.#pools.flatMap((pool) =>
      Array.from({ length: connections }, () => this.#work(pool)),
    );
    this.done = Promise.all(workers).then(() => this.#close());
  }

  /** Resolves once that many events were accepted. */
  reached(count: number): Promise<void> {
    if (this.accepted.size >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ count, resolve }));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.done;
  }

  async #work(pool: Pool): Promise<void> {
    while (!this.#stopped && this.accepted.size < this.#count) {
      try {
        await this.#send(pool);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        await this.#note('lost');
      }
    }
  }

  async #send(pool: Pool): Promise<void> {
    const body = JSON.stringify({ event_type: 'load', data: { n: this.#sent++ } });
    const answer = await pool.request({ ...this.#request, body, headersTimeout: 15_000 });
    const text = await answer.body.text();
    if (answer.statusCode !== 201) return this.#note(answer.statusCode);
    this.accepted.add((JSON.parse(text) as { data: { uid: string } }).data.uid);
    for (const waiter of this.#waiters) if (this.accepted.size >= waiter.count) waiter.resolve();
  }

  /** Pauses, because a service that refuses or is down needs a moment. */
  async #note(what: number | 'lost'): Promise<void> {
    this.refused.set(what, (this.refused.get(what) ?? 0) + 1);
    await delay(50);
  }

  async #close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.destroy()));
  }
}
