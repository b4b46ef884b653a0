import type { Logger } from '../platform/logger.ts';
import type { SourceRow, SourceStore } from '../store/config/sources.ts';
import type { Database } from '../store/database/database.ts';
import { SourceConsumer, type SourceConsumerDeps } from './source-consumer.ts';

/**
 * Runs the sources of brokers of all projects on this node. The list of them is read each second, and the rows that
 * changed: one whose connection settings changed is stopped and started again, one that was disabled or deleted is
 * stopped, the others go on untouched. Functions and limits are read from the config with each message.
 *
 * Sources change side by side: one that takes long to stop holds up no other.
 */
export interface BrokerRunnerDeps extends SourceConsumerDeps {
  db: Database;
  sources: SourceStore;
  log: Logger;
}

const POLL_MS = 1_000;

interface Entry {
  version: number;
  /** Equal settings need no new connection. */
  settings: string;
  consumer: SourceConsumer | null;
  /** The change that is under way. */
  changing: Promise<void>;
}

export class BrokerRunner {
  readonly #deps: BrokerRunnerDeps;
  readonly #entries = new Map<string, Entry>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(deps: BrokerRunnerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#deps.board.start();
    this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#polling;
    await Promise.all([...this.#entries.keys()].map((id) => this.#end(id)));
    await this.#deps.board.stop();
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll().finally(() => this.#schedule(POLL_MS));
    }, ms);
  }

  async #poll(): Promise<void> {
    const { db, sources, log } = this.#deps;
    try {
      const listed = await sources.brokers(db);
      const ids = new Set(listed.map(({ id }) => id));
      for (const id of this.#entries.keys()) if (!ids.has(id)) void this.#end(id);
      for (const { id, project_id: projectId, version } of listed) {
        if (this.#entries.get(id)?.version === version) continue;
        const row = await sources.get(db, projectId, id);
        if (row !== undefined) this.#apply(row);
      }
    } catch (error) {
      log.debug({ err: error }, 'the sources of brokers could not be read; trying again in a second');
    }
  }

  #apply(row: SourceRow): void {
    const settings = JSON.stringify([row.type, row.is_disabled, row.secret.reveal().pub_sub]);
    const known = this.#entries.get(row.id);
    if (known?.settings === settings) {
      known.version = row.version;
      return;
    }
    const consumer = row.is_disabled ? null : new SourceConsumer(this.#deps, row);
    const changing = this.#replace(row.id, known, consumer);
    this.#entries.set(row.id, { version: row.version, settings, consumer, changing });
  }

  async #replace(id: string, known: Entry | undefined, consumer: SourceConsumer | null): Promise<void> {
    await known?.changing;
    await known?.consumer?.stop();
    // Another change may have come meanwhile, or the end.
    if (this.#entries.get(id)?.consumer === consumer) {
      if (consumer === null) this.#deps.board.remove(id);
      else consumer.start();
    }
  }

  async #end(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    await entry?.changing;
    await entry?.consumer?.stop();
    if (!this.#entries.has(id)) this.#deps.board.remove(id);
  }
}
