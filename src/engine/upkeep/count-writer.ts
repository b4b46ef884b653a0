import type { Accepted, AcceptedCounts } from '../../metrics/accepted-counts.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import { type Clock, systemClock } from '../../platform/time/clock.ts';

/**
 * Stores the counts of accepted events and new deliveries of this node every 2 s and at its stop, and adds up recent
 * counts every 30 s. A turn stores at most MAX_ROWS, so 10,000 busy endpoints cost 1,000 rows a second and no more. Counts
 * that cannot be stored are kept for the next turn; if only the answer was lost, they count twice.
 */
export interface CountWriterDeps {
  accepted: AcceptedCounts;
  store(counts: readonly Accepted[]): Promise<unknown>;
  addUp(signal: AbortSignal): Promise<void>;
  log: Logger;
  clock?: Clock;
}

const WRITE_EVERY_MS = 2_000;
const ADD_UP_EVERY_MS = 30_000;
export const MAX_ROWS = 2_000;

export class CountWriter {
  readonly #deps: CountWriterDeps;
  readonly #writing: Loop;
  readonly #addingUp: Loop;

  constructor(deps: CountWriterDeps) {
    const { log, clock = systemClock } = deps;
    this.#deps = deps;
    this.#writing = new Loop({
      turn: () => this.#write(MAX_ROWS),
      onError: (error) => log.warn({ err: error }, 'failed to store counts; retrying in 2 s'),
      everyMs: WRITE_EVERY_MS,
      clock,
    });
    this.#addingUp = new Loop({
      turn: (signal) => deps.addUp(signal),
      onError: (error) => log.warn({ err: error }, 'failed to add up counts; retrying in 30 s'),
      everyMs: ADD_UP_EVERY_MS,
      clock,
    });
  }

  start(): void {
    this.#writing.start();
    this.#addingUp.start();
  }

  /** Stores the rest. Without a database that is lost. */
  async stop(): Promise<void> {
    await this.#addingUp.stop();
    await this.#writing.stop();
    try {
      await this.#write(Number.POSITIVE_INFINITY);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'failed to store the last counts');
    }
  }

  async #write(limit: number): Promise<void> {
    const { accepted, store } = this.#deps;
    const all = accepted.take();
    const now = all.slice(0, limit);
    accepted.giveBack(all.slice(limit));
    if (now.length === 0) return;
    try {
      await store(now);
    } catch (error) {
      accepted.giveBack(now);
      throw error;
    }
  }
}
