import type { Traffic } from '../../metrics/traffic.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { Database } from '../../store/database/database.ts';
import { writeTraffic } from '../../store/history/traffic.ts';

/**
 * Stores the counts of this node every 10 s and at its stop. A turn writes at most MAX_ROWS, so 10,000 busy endpoints
 * cost 500 rows a second and no more; the rest follows in the next turn. Counts that cannot be stored are kept and
 * written later, with newer counts if there are any.
 */
export interface TrafficWriterDeps {
  db: Database;
  nodeId: string;
  traffic: Traffic;
  log: Logger;
}

const WRITE_EVERY_MS = 10_000;
const MAX_ROWS = 5_000;
const BATCH = 1_000;

export class TrafficWriter {
  readonly #deps: TrafficWriterDeps;
  readonly #loop: Loop;

  constructor(deps: TrafficWriterDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#write(MAX_ROWS),
      onError: (error) =>
        deps.log.warn({ err: error }, 'failed to store counts of traffic; retrying in 10 s'),
      everyMs: WRITE_EVERY_MS,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Stores what is left. Without a database that is lost. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    try {
      await this.#write(Number.POSITIVE_INFINITY);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'failed to store the last counts of traffic');
    }
  }

  async #write(limit: number): Promise<void> {
    const { db, nodeId, traffic, log } = this.#deps;
    for (let left = limit; left > 0; left -= BATCH) {
      const rows = traffic.takeChanged(BATCH);
      if (rows.length === 0) break;
      try {
        await writeTraffic(db, nodeId, rows);
      } catch (error) {
        traffic.giveBack(rows);
        throw error;
      }
    }
    const dropped = traffic.takeDropped();
    if (dropped > 0) log.warn({ dropped }, 'dropped counts of traffic that could not be stored');
  }
}
