import { prepareDirectory, WriteError } from '../platform/gzip-file.ts';
import { removeExpiredOfProjects } from '../store/project-retention.ts';
import { removeLeftovers } from '../store/remove-leftovers.ts';
import type { RemovedPartitions } from '../store/remove-partitions.ts';
import { removeExpired } from '../store/retention.ts';
import { withUpkeepLock } from '../store/upkeep-lock.ts';
import { type DiscardHeldDeps, discardHeld } from './discard-held.ts';

/**
 * One run of the removal of what is no longer kept, by one node at a time. Deliveries that were held for too long end
 * first, since they are what keeps the rest. With an export directory nothing leaves before it is written there: a
 * directory that cannot be written to ends the run before anything is touched.
 */
export interface RetentionSettings {
  retentionHours: number;
  /** Empty: what is removed is not written anywhere. */
  exportDirectory: string;
}

export interface RetentionReport extends RemovedPartitions {
  /** Deliveries and meta events that ended because they had been open for too long. */
  discarded: number;
}

const HOUR_MS = 3_600_000;
/** A node that was cut off for longer than this, and lives on, might not learn of a deletion. */
const CONFIG_KEPT_MS = 30 * 24 * HOUR_MS;

/** Null: another node is at it. */
export function runRetention(
  deps: DiscardHeldDeps & { settings: RetentionSettings },
  nowMs: number,
  signal: AbortSignal,
): Promise<RetentionReport | null> {
  const { db } = deps;
  const { retentionHours, exportDirectory } = deps.settings;
  const retentionMs = retentionHours * HOUR_MS;
  return withUpkeepLock(db, signal, async (session) => {
    const discarded = await discardHeld(deps, { nowMs, retentionMs }, signal);
    const configMs = nowMs - Math.max(2 * retentionMs, CONFIG_KEPT_MS);
    await removeLeftovers(db, { retentionMs: nowMs - retentionMs, configMs }, signal);
    try {
      if (exportDirectory !== '') await prepareDirectory(exportDirectory);
      const options = { db, session, signal, exportDirectory };
      await removeExpiredOfProjects(options, nowMs);
      const partitions = await removeExpired(options, { ms: nowMs - retentionMs });
      return { ...partitions, discarded };
    } catch (error) {
      if (!(error instanceof WriteError)) throw error;
      return { removed: [], waiting: [], discarded, exportProblem: error.message };
    }
  });
}
