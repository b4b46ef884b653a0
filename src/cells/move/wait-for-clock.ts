import { setTimeout as sleep } from 'node:timers/promises';
import { idTime } from '../../domain/ids.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { newestId } from '../../store/cells/open-transactions.ts';
import type { Queryable } from '../../store/database/database.ts';
import { databaseTime } from '../../store/queue/nodes.ts';

interface Sides {
  source: Queryable;
  target: Queryable;
}

const MOST_SKEW_MS = 60_000;
/** The nodes of a database know its clock by so much. */
const CLOCK_ERROR_MS = 100;

/** Waits until ids of the target are later than those that the project has. */
export async function waitForClock(sides: Sides, projectId: string): Promise<void> {
  for (;;) {
    const aheadMs = await refuseFuture(sides, projectId);
    if (aheadMs <= 0) return;
    await sleep(aheadMs);
  }
}

/**
 * Refuses a project whose newest row is too far ahead of the clock of the target, and says why. Otherwise it returns how far
 * it is ahead.
 */
export async function refuseFuture({ source, target }: Sides, projectId: string): Promise<number> {
  const newest = await newestId(source, projectId);
  if (newest === null) return 0;
  const madeAt = idTime(newest);
  const [ofSource, ofTarget] = await Promise.all([databaseTime(source), databaseTime(target)]);
  const aheadMs = madeAt + CLOCK_ERROR_MS - ofTarget;
  if (aheadMs <= MOST_SKEW_MS) return aheadMs;
  const time = new Date(madeAt).toISOString();
  const advice =
    madeAt - ofSource > CLOCK_ERROR_MS
      ? `the clock of a node or of the source was ahead when it was made: move the project after ${time}`
      : 'set it right first';
  throw new StartupError(
    `the clock of the target is ${Math.round(aheadMs / 1000)} s behind the newest row of the project (${newest}, ${time}); ${advice}`,
  );
}
