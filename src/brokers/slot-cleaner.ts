import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import type { ChangeStreamStore, SlotRow } from '../store/brokers/change-streams.ts';
import type { ConnectContext } from './module/broker-module.ts';

/**
 * Drops the replication slots and publications that were made for sources that are gone, or use others now. A database that is away is
 * asked again, after longer and longer waits: a slot that stays makes it keep its log for ever.
 */
export interface SlotCleanerDeps {
  connect: Omit<ConnectContext, 'signal' | 'log'>;
  log: Logger;
}

const LIMIT_MS = 30_000;

export class SlotCleaner {
  readonly #deps: SlotCleanerDeps;
  readonly #turns: Loop;
  readonly #stop = new AbortController();

  constructor(deps: SlotCleanerDeps) {
    this.#deps = deps;
    this.#turns = new Loop({
      turn: () => this.#clean(deps.connect.streams),
      onError: (error) => deps.log.debug({ err: error }, 'failed to read the slots that are to be dropped'),
    });
  }

  start(): void {
    this.#turns.start();
  }

  /** A slot is to be dropped. */
  wake(): void {
    this.#turns.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#turns.stop();
  }

  async #clean(streams: ChangeStreamStore): Promise<void> {
    for (const row of await streams.unusedSlots()) {
      if (this.#stop.signal.aborted) return;
      if (row.isFormer) await this.#drop(row, streams);
      else await this.#dropLeased(row, streams);
    }
  }

  /** The node that read the slot may not know yet that the source is gone. */
  async #dropLeased(row: SlotRow, streams: ChangeStreamStore): Promise<void> {
    const { sourceId: id, projectId } = row;
    if (!(await streams.lease({ id, projectId }))) return;
    try {
      await this.#drop(row, streams);
    } finally {
      await streams.giveBack(id);
    }
  }

  async #drop(row: SlotRow, streams: ChangeStreamStore): Promise<void> {
    const { connect, log } = this.#deps;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(LIMIT_MS)]);
    try {
      const { dropSlot } = await import('./postgres/drop-slot.ts');
      await dropSlot(row, { ...connect, signal, log });
      await streams.removeSlot(row.id);
    } catch (error) {
      log.warn({ err: error, slot: row.id }, 'failed to drop a replication slot; retrying later');
      await streams.retrySlotLater(row.id);
    }
  }
}
