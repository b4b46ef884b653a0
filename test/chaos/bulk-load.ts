import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { BulkEvent, ChaosLoad } from './chaos-load.ts';

/**
 * Brings the load to a rate, with calls of many events. A call has the events that are due by then, so calls grow when
 * answers are late. Events that fell due while no node answered are forgotten after OWED_MS. Each fourth call has
 * idempotency keys and is repeated until it is answered.
 */
export interface BulkOptions {
  urls: string[];
  key: string;
  path: string;
  /** Events per second, together with those of the load. */
  rate: number;
  /** The other part of the load. It records what was accepted. */
  load: ChaosLoad;
  next(n: number): BulkEvent;
}

const CALLS_PER_NODE = 3;
const MOST_EVENTS = 150;
const LEAST_EVENTS = 10;
const OWED_MS = 2_000;
const LOOK_MS = 20;
const REPEATS = 200;

interface Result {
  status: 'stored' | 'duplicate' | 'refused';
  uid: string;
  code: string;
}

export class BulkLoad {
  readonly #options: BulkOptions;
  readonly #pools: Pool[];
  readonly #done: Promise<unknown>;
  #lookedAt = performance.now();
  /** Events that are due. */
  #owed = 0;
  #sentByLoad: number;
  #sent = 0;
  #calls = 0;
  #isStopped = false;

  constructor(options: BulkOptions) {
    this.#options = options;
    this.#sentByLoad = options.load.sent;
    this.#pools = options.urls.map(
      (url) => new Pool(url, { connections: CALLS_PER_NODE, pipelining: 1, headersTimeout: 60_000 }),
    );
    this.#done = Promise.all(
      this.#pools.flatMap((pool) => Array.from({ length: CALLS_PER_NODE }, () => this.#work(pool))),
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
    await Promise.all(this.#pools.map((pool) => pool.destroy()));
  }

  async #work(pool: Pool): Promise<void> {
    while (!this.#isStopped) {
      const count = this.#take();
      if (count > 0) await this.#call(pool, count);
      await delay(LOOK_MS);
    }
  }

  /** How many events to send now. */
  #take(): number {
    const { rate, load } = this.#options;
    const now = performance.now();
    this.#owed += ((now - this.#lookedAt) / 1000) * rate - (load.sent - this.#sentByLoad);
    this.#owed = Math.min(this.#owed, (OWED_MS / 1000) * rate);
    this.#lookedAt = now;
    this.#sentByLoad = load.sent;
    if (this.#owed < LEAST_EVENTS) return 0;
    const count = Math.min(MOST_EVENTS, Math.floor(this.#owed));
    this.#owed -= count;
    return count;
  }

  async #call(pool: Pool, count: number): Promise<void> {
    const isRepeatable = this.#calls++ % 4 === 0;
    const events = Array.from({ length: count }, () => {
      const n = this.#sent++;
      const event = this.#options.next(n);
      return isRepeatable ? { ...event, body: { ...event.body, idempotency_key: `bulk-${n}` } } : event;
    });
    for (let tries = 0; tries < REPEATS; tries++) {
      if ((await this.#send(pool, events)) || !isRepeatable) return;
      await delay(100);
    }
  }

  async #send(pool: Pool, events: BulkEvent[]): Promise<boolean> {
    const { path, key, load } = this.#options;
    const startedAt = Date.now();
    try {
      const answer = await pool.request({
        path: `${path}/events/batch`,
        method: 'POST',
        headers: { authorization: key, 'content-type': 'application/json' },
        body: JSON.stringify({ events: events.map(({ body }) => body) }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) return load.refuse(`${answer.statusCode}`);
      const { data } = JSON.parse(text) as { data: { results: Result[] } };
      const at = Date.now();
      for (const [n, { status, uid, code }] of data.results.entries()) {
        const { body, orderingKey } = events[n] as BulkEvent;
        if (status === 'refused') load.refuse(code);
        else
          load.record(
            uid,
            { eventType: String(body['event_type']), startedAt, at, orderingKey },
            status === 'duplicate',
          );
      }
      return true;
    } catch (error) {
      return load.refuse(error);
    } finally {
      load.slowestMs = Math.max(load.slowestMs, Date.now() - startedAt);
    }
  }
}
