import { firstIdAt } from '../../domain/ids.ts';
import { prepareDirectory, WriteError } from '../../platform/whole-file.ts';
import { removeExpiredAudit } from '../../store/upkeep/audit-retention.ts';
import { removeTemplates } from '../../store/upkeep/expired-templates.ts';
import { type ProjectRemoval, removeExpiredOfProjects } from '../../store/upkeep/project-retention.ts';
import { removeLeftovers } from '../../store/upkeep/remove-leftovers.ts';
import type { RemovedPartitions } from '../../store/upkeep/remove-partitions.ts';
import { removeExpired } from '../../store/upkeep/row-remover.ts';
import { withUpkeepLock } from '../../store/upkeep/upkeep-lock.ts';
import { type DiscardHeldDeps, discardHeld } from './discard-held.ts';
import type { Duty, DutyName } from './duty.ts';

/**
 * One run of the removal of expired data, by one node at a time. With an export directory nothing is removed
 * before it is exported: a directory that is not writable ends the removal before anything changes.
 * Deliveries that waited too long end last, so that they are visible until the next run.
 */
export interface RetentionRunDeps extends Omit<DiscardHeldDeps, 'duty'> {
  config: {
    retentionHours: number;
    /** Empty: no export. */
    exportDir: string;
  };
  duty(name: DutyName): Duty;
}

export interface RetentionReport {
  /** Undefined: the removal failed. */
  partitions: RemovedPartitions | undefined;
  /** Deliveries and meta events that ended because they were open for too long. */
  discarded: number;
}

const HOUR_MS = 3_600_000;
/** A node that was cut off for longer than this, and still runs, might miss a deletion. */
const CONFIG_KEPT_MS = 30 * 24 * HOUR_MS;

/** Null: another node does it. */
export function runRetention(
  deps: RetentionRunDeps,
  nowMs: number,
  signal: AbortSignal,
): Promise<RetentionReport | null> {
  const { db, config, duty } = deps;
  const retentionMs = config.retentionHours * HOUR_MS;
  const at = { nowMs, retentionMs };
  const [audit, removal, discard] = [duty('audit'), duty('removal'), duty('discard')];
  return withUpkeepLock(db, signal, async (session) => {
    const configMs = nowMs - Math.max(2 * retentionMs, CONFIG_KEPT_MS);
    const before = { retentionMs: nowMs - retentionMs, configMs };
    await duty('leftovers').run(() => removeLeftovers(db, before, signal));
    await audit.run(() => removeExpiredAudit({ db, signal, failed: audit.failedFor }, at));
    const options = { db, session, signal, exportDirectory: config.exportDir, failed: removal.failedFor };
    const partitions = await removal.run(() => removeOld(options, at));
    await duty('templates').run(() => removeTemplates(db, firstIdAt(before.retentionMs), signal));
    const discarded = await discard.run(() => discardHeld({ ...deps, duty: discard }, at, signal));
    return { partitions, discarded: discarded ?? 0 };
  });
}

async function removeOld(
  options: ProjectRemoval,
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
