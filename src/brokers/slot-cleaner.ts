import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import type { SlotRow } from '../store/brokers/change-streams.ts';
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

export const slotCleaner = (deps: SlotCleanerDeps): Loop =>
  new Loop({
    turn: (stop) => clean(deps, stop),
    onError: (error) => deps.log.debug({ err: error }, 'failed to read the slots that are to be dropped'),
  });

async function clean(deps: SlotCleanerDeps, stop: AbortSignal): Promise<void> {
  const { streams } = deps.connect;
  for (const row of await streams.unusedSlots()) {
    if (stop.aborted) return;
    const { sourceId: id, projectId } = row;
    // The node that read the slot may not know yet that the source is gone.
    if (!row.isFormer && !(await streams.lease({ id, projectId }))) continue;
    try {
      await drop(deps, row, stop);
    } finally {
      if (!row.isFormer) await streams.giveBack(id);
    }
  }
}

async function drop({ connect, log }: SlotCleanerDeps, row: SlotRow, stop: AbortSignal): Promise<void> {
  const { streams } = connect;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(LIMIT_MS)]);
  try {
    const { dropSlot } = await import('./postgres/drop-slot.ts');
    await dropSlot(row, { ...connect, signal, log });
    await streams.removeSlot(row.id);
  } catch (error) {
    log.warn({ err: error, slot: row.id }, 'failed to drop a replication slot; retrying later');
    await streams.retrySlotLater(row.id);
  }
}
