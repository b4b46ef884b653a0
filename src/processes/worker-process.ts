import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Logger } from '../platform/logger.ts';
import type { Connection } from '../store/database/database.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/** One process below the primary, from its fork to its end. */
export interface WorkerProcessOptions {
  number: number;
  connection: Connection;
  metricsOfAll(): Promise<string>;
  log: Logger;
}

export interface WorkerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

type Outcome = Extract<FromWorker, { type: 'started' | 'failed' }>;

/** Reading the queue for metrics takes two seconds at most. A process that needs longer has a problem. */
const METRICS_MS = 3_000;

export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #worker: Worker;
  readonly #outcome = Promise.withResolvers<Outcome>();
  readonly #pages = new Map<number, (page: string) => void>();
  #requests = 0;
  isStarted = false;
  readonly ended: Promise<WorkerExit>;

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    this.#worker = cluster.fork();
    this.ended = this.#end();
    closeUnconfirmed(this.#worker.process);
    this.#worker.on('message', (message: FromWorker) => this.#hear(message));
    // A failed send means that the process is ending, and `ended` reports that.
    this.#worker.on('error', () => {});
    const { stderr } = this.#worker.process;
    if (stderr !== null) {
      createInterface({ input: stderr }).on('line', (line) => process.stderr.write(`${line}\n`));
    }
    this.send({ type: 'start', number: options.number, connection: options.connection });
  }

  /** Whether it started to serve. */
  get outcome(): Promise<Outcome> {
    return this.#outcome.promise;
  }

  send(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message, () => {});
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  /** Empty if it does not answer in time. */
  async metrics(): Promise<string> {
    const request = ++this.#requests;
    const answer = new Promise<string>((resolve) => this.#pages.set(request, resolve));
    const timer = setTimeout(() => this.#pages.get(request)?.(''), METRICS_MS);
    this.send({ type: 'render', request });
    try {
      return await Promise.race([answer, this.ended.then(() => '')]);
    } finally {
      clearTimeout(timer);
      this.#pages.delete(request);
    }
  }

  async #end(): Promise<WorkerExit> {
    const [code, signal] = (await once(this.#worker, 'exit')) as [number | null, NodeJS.Signals | null];
    this.isStarted = false;
    const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
    const reason = `process ${this.#options.number} ${how} before it was ready`;
    this.#outcome.resolve({ type: 'failed', reason });
    return { code, signal };
  }

  #hear(message: FromWorker): void {
    switch (message.type) {
      case 'started':
        this.isStarted = true;
        return this.#outcome.resolve(message);
      case 'failed':
        return this.#outcome.resolve(message);
      case 'rendered':
        return this.#pages.get(message.request)?.(message.page);
      case 'metrics':
        void this.#sendMetricsOfAll(message.request);
    }
  }

  async #sendMetricsOfAll(request: number): Promise<void> {
    const { metricsOfAll, log } = this.#options;
    let page: string | null = null;
    try {
      page = await metricsOfAll();
    } catch (error) {
      log.warn({ err: error }, 'failed to collect the metrics of all processes');
    }
    this.send({ type: 'page', request, page });
  }
}

interface ClusterMessage {
  act?: string;
  seq?: number;
  ack?: number;
}

/**
 * node:cluster gives connections to a process one at a time. It closes its own copy of each when the process confirms.
 * A process that dies before that leaves the copy open, so the client would wait although no process reads. This closes
 * the copy, and the client sees a broken connection.
 */
function closeUnconfirmed(child: ChildProcess): void {
  let given: { seq: number | undefined; connection: { close(): void } } | undefined;
  const send = child.send.bind(child);
  child.send = (message: ClusterMessage, ...rest: unknown[]) => {
    const [connection] = rest as [{ close(): void }?];
    if (message.act === 'newconn' && connection !== undefined) given = { seq: message.seq, connection };
    return (send as (...args: unknown[]) => boolean)(message, ...rest);
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined && ack === given?.seq) given = undefined;
  });
  child.once('exit', () => given?.connection.close());
}
