import { firstIdAt, idTime } from '../domain/ids.ts';
import type { InFlightIds } from '../domain/in-flight-ids.ts';
import type { Database } from '../store/database/database.ts';
import { SILENT_SECONDS } from '../store/database/node-lease.ts';
import { askForInFlightIds } from '../store/database/notify-nodes.ts';
import { inFlightElsewhere } from '../store/queue/nodes.ts';

/**
 * How far a job may read events in id order. Ids are given before the commit, so an event with a smaller id may appear
 * after one with a greater id. A job must not read past an id that some node may still commit:
 *   this node     -> knows the ids that it holds;
 *   another node  -> writes with each beat below which id it commits nothing, as of the beat before. A job that needs more
 *                    asks all nodes to beat at once, twice. Without notifications it knows enough after 4 s;
 *   silent node   -> counts for the first 10 s of a job. None of its statements runs longer;
 *   starting node -> takes no id before its second beat, which measures the database's clock after its row is visible.
 *                    So its ids are later than the clock of the statement that did not see it.
 * A job waits for a node that beats and holds an id for as long as it does: accepting has time limits of its own.
 */
const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 1_000;

export interface SettledIdsDeps {
  db: Database;
  nodeId: string;
  inFlight: InFlightIds;
  silentMs?: number;
}

export class SettledIds {
  readonly #deps: SettledIdsDeps;

  constructor(deps: SettledIdsDeps) {
    this.#deps = deps;
  }

  /**
   * Events with ids below `before` are committed or never will be. `waitMs`: when to ask again, null if all that the job
   * wants is below: ids up to its own, and up to `toMs` if that is given.
   */
  async upTo(
    jobId: string,
    toMs = Number.POSITIVE_INFINITY,
  ): Promise<{ before: string; waitMs: number | null }> {
    const { db, nodeId, inFlight, silentMs = SILENT_SECONDS * 1000 } = this.#deps;
    const sinceMs = idTime(jobId);
    const own = inFlight.oldest();
    const { oldest, nowMs } = await inFlightElsewhere(db, nodeId, { sinceMs, silentMs });
    const others = oldest ?? jobId;
    const before = [jobId, own, others, firstIdAt(nowMs)].reduce((a, b) => (b < a ? b : a));
    if (before === jobId || idTime(before) > toMs) return { before, waitMs: null };
    if (others < jobId) await askForInFlightIds(db);
    return { before, waitMs: Math.min(Math.max((nowMs - sinceMs) / 4, FIRST_WAIT_MS), LONGEST_WAIT_MS) };
  }
}
