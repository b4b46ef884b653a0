import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';

/**
 * A bounded stream of events over keep-alive connections to every node. It records each answer and repeats
 * nothing, except events with an idempotency key, which are sent until they are answered 201.
 */
export interface Target {
  path: string;
  body: Record<string, unknown>;
  isRepeatable: boolean;
  /** Absent: its delivery has no order. */
  orderingKey?: string;
}

/** An event of a call with many. */
export interface BulkEvent {
  body: Record<string, unknown>;
  orderingKey?: string;
}

/** The next event, by its number and the accepted events of each type so far. */
export type NextTarget = (n: number, accepted: ReadonlyMap<string, number>) => Target;

export interface ChaosLoadOptions {
  urls: string[];
  key: string;
  connectionsPerNode: number;
  /** Pause of each connection between two requests. */
  paceMs: number;
  next: NextTarget;
}

export interface Accepted {
  eventType: string;
  /** When its call began, and when it was answered. */
  startedAt: number;
  at: number;
  orderingKey: string | undefined;
}

export class ChaosLoad {
  /** Event ids of requests answered 201. */
  readonly accepted = new Map<string, Accepted>();
  /** How many events of each type were accepted. */
  readonly acceptedByType = new Map<string, number>();
  /** Ids of accepted events that were reported as duplicates. */
  readonly duplicates = new Set<string>();
  readonly refused = new Map<string, number>();
  /** The longest wait of a request for its answer or refusal. */
  slowestMs = 0;
  readonly #options: ChaosLoadOptions;
  readonly #pools: Pool[];
  readonly #done: Promise<unknown>;
  #sent = 0;
  #isStopped = false;

  constructor(options: ChaosLoadOptions) {
    this.#options = options;
    const { urls, connectionsPerNode } = options;
    this.#pools = urls.map(
      (url) => new Pool(url, { connections: connectionsPerNode, pipelining: 1, headersTimeout: 60_000 }),
    );
    this.#done = Promise.all(
      this.#pools.flatMap((pool) => Array.from({ length: connectionsPerNode }, () => this.#work(pool))),
    );
  }

  get sent(): number {
    return this.#sent;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
    await Promise.all(this.#pools.map((pool) => pool.destroy()));
  }

  async #work(pool: Pool): Promise<void> {
    while (!this.#isStopped) {
      const target = this.#options.next(this.#sent++, this.acceptedByType);
      for (let tries = 0; tries < 200; tries++) {
        if ((await this.#send(pool, target)) || !target.isRepeatable) break;
        await delay(100);
      }
      await delay(this.#options.paceMs);
    }
  }

  async #send(pool: Pool, { path, body, orderingKey }: Target): Promise<boolean> {
    const began = Date.now();
    const startedAt = performance.now();
    try {
      const answer = await pool.request({
        path,
        method: 'POST',
        headers: { authorization: this.#options.key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 201) return this.refuse(`${answer.statusCode}`);
      const { data } = JSON.parse(text) as {
        data: { uid: string; event_type: string; is_duplicate_event: boolean };
      };
      const event = { eventType: data.event_type, startedAt: began, at: Date.now(), orderingKey };
      this.record(data.uid, event, data.is_duplicate_event);
      return true;
    } catch (error) {
      return this.refuse(error);
    } finally {
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startedAt);
    }
  }

  /** An event that was answered as accepted. */
  record(id: string, event: Accepted, isDuplicate: boolean): void {
    if (this.accepted.has(id)) throw new TypeError(`event ${id} was returned twice`);
    this.accepted.set(id, event);
    this.acceptedByType.set(event.eventType, (this.acceptedByType.get(event.eventType) ?? 0) + 1);
    if (isDuplicate) this.duplicates.add(id);
  }

  /** A call that was refused or not answered, by its error or status. */
  refuse(reason: unknown): false {
    if (reason instanceof TypeError) throw reason;
    const text = typeof reason === 'string' ? reason : ((reason as { code?: string }).code ?? String(reason));
    this.refused.set(text, (this.refused.get(text) ?? 0) + 1);
    return false;
  }
}
