import type { SourceId } from '../domain/ids.ts';
import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import type { SourceRow, SourceStore } from '../store/config/sources.ts';
import type { Database } from '../store/database/database.ts';
import type { Look } from '../store/upkeep/look.ts';
import { brokerKind, brokerSettings } from './modules.ts';
import { slotCleaner } from './slot-cleaner.ts';
import { SourceConsumer, type SourceConsumerDeps } from './source-consumer.ts';

/**
 * Runs the sources of brokers of all projects on this node. If a look finds that the list of them changed, it is read with the rows that
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

interface Entry {
  version: number;
  /** Equal settings need no new connection. Null where they cannot be read. */
  settings: string | null;
  consumer: SourceConsumer | null;
  /** The change that is under way. */
  changing: Promise<void>;
}

export class BrokerRunner {
  readonly #deps: BrokerRunnerDeps;
  readonly #entries = new Map<SourceId, Entry>();
  readonly #polls: Loop;
  readonly #cleaner: Loop;
  /** The mark of the list, and that of the list that was read without a fault. */
  #mark: string | null = null;
  #readMark: string | null = null;

  constructor(deps: BrokerRunnerDeps) {
    this.#deps = deps;
    this.#cleaner = slotCleaner(deps);
    this.#polls = new Loop({
      turn: () => this.#poll(),
      onError: (error) =>
        deps.log.debug({ err: error }, 'failed to read the broker sources; retrying in 1 s'),
    });
  }

  start(): void {
    this.#deps.board.start();
    this.#polls.start();
    this.#cleaner.start();
    this.#polls.wake();
  }

  /** Takes the findings of each second. */
  looked({ brokers, hasUnusedSlot }: Pick<Look, 'brokers' | 'hasUnusedSlot'>): void {
    this.#mark = brokers;
    if (brokers !== this.#readMark) this.#polls.wake();
    if (hasUnusedSlot) this.#cleaner.wake();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#polls.stop(), this.#cleaner.stop()]);
    await Promise.all([...this.#entries.keys()].map((id) => this.#end(id)));
    await this.#deps.board.stop();
  }

  async #poll(): Promise<void> {
    const { db, sources } = this.#deps;
    const mark = this.#mark;
    const listed = await sources.brokers(db);
    const ids = new Set(listed.map(({ id }) => id));
    for (const id of this.#entries.keys()) if (!ids.has(id)) void this.#end(id);
    for (const { id, project_id: projectId, version } of listed) {
      if (this.#entries.get(id)?.version === version) continue;
      const row = await sources.get(db, projectId, id);
      if (row !== undefined) this.#apply(row, settingsOf(row, this.#deps.log));
    }
    this.#readMark = mark;
  }

  #apply(row: SourceRow, settings: string | null): void {
    const known = this.#entries.get(row.id);
    if (known?.settings === settings) {
      known.version = row.version;
      return;
    }
    const runs = !row.is_disabled && settings !== null && brokerKind(row) !== undefined;
    const consumer = runs ? new SourceConsumer(this.#deps, row) : null;
    const changing = this.#replace(row.id, known, consumer);
    this.#entries.set(row.id, { version: row.version, settings, consumer, changing });
  }

  async #replace(id: SourceId, known: Entry | undefined, consumer: SourceConsumer | null): Promise<void> {
    await known?.changing;
    await known?.consumer?.stop();
    // Another change may have come meanwhile, or the end.
    if (this.#entries.get(id)?.consumer === consumer) {
      if (consumer === null) this.#deps.board.remove(id);
      else consumer.start();
    }
  }

  async #end(id: SourceId): Promise<void> {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    await entry?.changing;
    await entry?.consumer?.stop();
    if (!this.#entries.has(id)) this.#deps.board.remove(id);
  }
}

/** Settings that cannot be read stop their own source only. */
function settingsOf(row: SourceRow, log: Logger): string | null {
  try {
    return JSON.stringify([row.type, row.is_disabled, brokerSettings(row)]);
  } catch (error) {
    log.error({ err: error, source: row.id }, 'failed to read the settings of a source; it does not run');
    return null;
  }
}
