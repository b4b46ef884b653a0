import type { Logger } from '../platform/logger.ts';

/**
 * Regular upkeep: partitions are made ahead of need, and what is older than the retention is removed. At once on a
 * start as well, or a node that never runs for long would never tidy.
 */
export interface JanitorDeps {
  makePartitions(): Promise<void>;
  /** Names of what was removed. */
  removeExpired(): Promise<string[]>;
  log: Logger;
}

const EVERY_MS = 600_000;

export class Janitor {
  readonly #deps: JanitorDeps;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(deps: JanitorDeps) {
    this.#deps = deps;
  }

  start(): void {
    const tidy = () => {
      this.#working = this.#tidy();
    };
    tidy();
    this.#timer = setInterval(tidy, EVERY_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#working;
  }

  async #tidy(): Promise<void> {
    const { makePartitions, removeExpired, log } = this.#deps;
    try {
      await makePartitions();
      const removed = await removeExpired();
      if (removed.length > 0) log.info({ partitions: removed }, 'removed what is older than the retention');
    } catch (error) {
      log.warn({ err: error }, 'upkeep failed; trying again in ten minutes');
    }
  }
}
