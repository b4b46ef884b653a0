import type { Logger } from '../platform/logger.ts';

/** Regular upkeep: partitions are made ahead of need. */
const EVERY_MS = 600_000;

export class Janitor {
  readonly #deps: { makePartitions(): Promise<void>; log: Logger };
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: { makePartitions(): Promise<void>; log: Logger }) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#deps.makePartitions().catch((error: unknown) => {
        this.#deps.log.warn(
          { err: error },
          'partitions could not be made ahead; trying again in ten minutes',
        );
      });
    }, EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
