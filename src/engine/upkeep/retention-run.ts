import { firstIdAt } from '../../domain/ids.ts';
import { prepareDirectory, WriteError } from '../../platform/gzip-file.ts';
import { removeExpiredAudit } from '../../store/upkeep/audit-retention.ts';
import { removeTemplates } from '../../store/upkeep/expired-templates.ts';
import { removeExpiredOfProjects } from '../../store/upkeep/project-retention.ts';
import { removeLeftovers } from '../../store/upkeep/remove-leftovers.ts';
import type { RemovalOptions, RemovedPartitions } from '../../store/upkeep/remove-partitions.ts';
import { removeExpired } from '../../store/upkeep/retention.ts';
import { withUpkeepLock } from '../../store/upkeep/upkeep-lock.ts';
import { type DiscardHeldDeps, discardHeld } from './discard-held.ts';

/**
 * One run of the removal of expired data, by one node at a time. With an export directory nothing is removed
 * before it is exported: a directory that is not writable ends the removal before anything changes.
 * Deliveries that waited too long end last, so that they are visible until the next run.
 */
export interface RetentionSettings {
  retentionHours: number;
  /** Empty: no export. */
  exportDirectory: string;
}

export interface RetentionReport extends RemovedPartitions {
  /** Deliveries and meta events that ended because they were open for too long. */
  discarded: number;
}

const HOUR_MS = 3_600_000;
/** A node that was cut off for longer than this, and still runs, might miss a deletion. */
const CONFIG_KEPT_MS = 30 * 24 * HOUR_MS;

/** Null: another node does it. */
export function runRetention(
  deps: DiscardHeldDeps & { settings: RetentionSettings },
  nowMs: number,
  signal: AbortSignal,
): Promise<RetentionReport | null> {
  const { db } = deps;
  const { retentionHours, exportDirectory } = deps.settings;
  const retentionMs = retentionHours * HOUR_MS;
  return withUpkeepLock(db, signal, async (session) => {
    const configMs = nowMs - Math.max(2 * retentionMs, CONFIG_KEPT_MS);
    await removeLeftovers(db, { retentionMs: nowMs - retentionMs, configMs }, signal);
    await removeExpiredAudit(db, { nowMs, retentionMs }, signal);
    const options = { db, session, signal, exportDirectory };
    const partitions = await removeOld(options, { nowMs, retentionMs });
    await removeTemplates(db, firstIdAt(nowMs - retentionMs), signal);
    const discarded = await discardHeld(deps, { nowMs, retentionMs }, signal);
    return { ...partitions, discarded };
  });
}

async function removeOld(
  options: RemovalOptions,
  { nowMs, retentionMs }: { nowMs: number; retentionMs: number },
): Promise<RemovedPartitions> {
  try {
    if (options.exportDirectory !== '') await prepareDirectory(options.exportDirectory);
    await removeExpiredOfProjects(options, nowMs);
  } catch (error) {
    if (!(error instanceof WriteError)) throw error;
    return { removed: [], waiting: [], needed: [], exportProblem: error.message };
  }
  return removeExpired(options, { ms: nowMs - retentionMs });
}
