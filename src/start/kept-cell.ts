import type { FastifyInstance } from 'fastify';
import { type DatabasePart, databasePart } from '../api/operator/health.ts';
import type { Cell } from '../cells/directory.ts';
import { createMetrics } from '../metrics/metrics.ts';
import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import type { Database } from '../store/database/database.ts';
import { faultOf, isConnectionError } from '../store/database/pg-errors.ts';
import type { Node } from './node.ts';
import { Services } from './services.ts';

/**
 * A cell of this process. States:
 *   away    -> its database could not be used since the process started: tried again every TRY_MS. Its projects get 503;
 *   serving -> its node runs, and copes with a database that goes away as the only node of a process does.
 */
const TRY_MS = 5_000;

export interface KeptCellDeps {
  name: string;
  db: Database;
  isHome: boolean;
  graceMs: number;
  log: Logger;
  /** Makes its node. Fails if the database cannot be used. */
  build(): Promise<Node>;
  /** Its node serves now. */
  onServing(node: Node): void;
}

export class KeptCell implements Cell {
  readonly #deps: KeptCellDeps;
  readonly #tries: Loop;
  #node: Node | undefined;
  #services: Services | undefined;
  #failure: Error | undefined;

  constructor(deps: KeptCellDeps) {
    this.#deps = deps;
    this.#tries = new Loop({
      turn: () => this.#try(),
      onError: (error) => deps.log.warn({ cell: deps.name, err: error }, 'a cell is still away'),
      everyMs: TRY_MS,
    });
  }

  get name(): string {
    return this.#deps.name;
  }

  get db(): Database {
    return this.#deps.db;
  }

  get node(): Node | undefined {
    return this.#node;
  }

  server(): FastifyInstance | undefined {
    return this.#node?.server;
  }

  /** Why it does not serve yet. */
  get problem(): string {
    return this.#failure?.message ?? 'still starting';
  }

  async part(): Promise<DatabasePart> {
    const name = `cell ${this.name}`;
    if (this.#node !== undefined) return databasePart(name, this.db);
    const reason = this.#failure === undefined ? 'starting' : (faultOf(this.#failure) ?? 'unusable');
    return { name, is_ready: false, reason };
  }

  /** A cell that cannot be used is tried again later. Other faults of the home fail the start. */
  async start(): Promise<void> {
    try {
      await this.#try();
    } catch (error) {
      if (this.#deps.isHome && !isConnectionError(error)) throw error;
      this.#deps.log.error(
        { cell: this.name, err: error },
        'a cell cannot be used; its projects wait, and it is tried again every 5 s',
      );
      this.#tries.start();
    }
  }

  async stop(stopBy?: number): Promise<void> {
    await this.#tries.stop();
    try {
      await this.#services?.stop(stopBy);
    } finally {
      await this.db.close();
    }
  }

  async metrics(): Promise<string> {
    if (this.#node !== undefined) return this.#node.renderMetrics();
    const { metrics, registry } = createMetrics(undefined, this.name);
    metrics.databaseUp.set(0);
    return registry.metrics();
  }

  async #try(): Promise<void> {
    if (this.#node !== undefined) return;
    try {
      const { graceMs, log } = this.#deps;
      const node = await this.#deps.build();
      // Before the engine runs: a fault here leaves nothing behind.
      await node.server.ready();
      const services = new Services(node.services, { log, graceMs });
      await services.start();
      this.#services = services;
      this.#node = node;
      this.#deps.onServing(node);
      void this.#tries.stop();
    } catch (error) {
      this.#failure = error as Error;
      throw error;
    }
  }
}
