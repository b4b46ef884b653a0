import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ChaosDatabase } from './chaos-database.ts';

/** The path of each node to the database, whose answers can be delayed (relay-thread.ts). */
export class DatabaseRelays {
  readonly #worker: Worker;
  readonly #database: ChaosDatabase;
  readonly #ports: number[];

  private constructor(worker: Worker, database: ChaosDatabase, ports: number[]) {
    this.#worker = worker;
    this.#database = database;
    this.#ports = ports;
  }

  static async start(database: ChaosDatabase, count: number): Promise<DatabaseRelays> {
    const worker = new Worker(new URL('./relay-thread.ts', import.meta.url), {
      workerData: { count, socketPath: database.socketPath },
    });
    const [ports] = (await once(worker, 'message')) as [number[]];
    return new DatabaseRelays(worker, database, ports);
  }

  urlOf(node: number): string {
    return this.#database.urlAt(this.#ports[node] as number);
  }

  delay(node: number, delayMs: number): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ relay: node, delayMs });
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
