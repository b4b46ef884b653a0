import type { Metrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import type { RetentionReport } from './retention-run.ts';

/**
 * Regular upkeep: creates partitions ahead of need, and removes data older than the retention. It also runs
 * on each start, otherwise a node that never runs for long would never clean up. One run at a time: a long
 * one, such as the export of a large partition, makes the next one be skipped, and a stop ends it early.
 */
export interface JanitorDeps {
  makePartitions(): Promise<void>;
  /** Null: another node does it. */
  removeExpired(signal: AbortSignal): Promise<RetentionReport | null>;
  metrics: Metrics;
  log: Logger;
}

const EVERY_MS = 600_000;

export class Janitor {
  readonly #deps: JanitorDeps;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;

  constructor(deps: JanitorDeps) {
    this.#deps = deps;
  }

  start(): void {
    const tidy = () => {
      this.#working ??= this.#tidy().finally(() => {
        this.#working = undefined;
      });
    };
    tidy();
    this.#timer = setInterval(tidy, EVERY_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.#working;
  }

  async #tidy(): Promise<void> {
    const { makePartitions, removeExpired, log } = this.#deps;
    try {
      await makePartitions();
      const report = await removeExpired(this.#stop.signal);
      if (report !== null) this.#tell(report);
    } catch (error) {
      log.warn({ err: error }, 'upkeep failed; retrying in 10 min');
    }
  }

  #tell({ removed, waiting, discarded, exportProblem }: RetentionReport): void {
    const { metrics, log } = this.#deps;
    metrics.exportFailing.set(exportProblem === null ? 0 : 1);
    if (discarded > 0) log.warn({ discarded }, 'discarded expired deliveries');
    if (removed.length > 0) log.info({ partitions: removed }, 'removed expired partitions');
    if (waiting.length > 0)
      log.info({ partitions: waiting }, 'a long transaction blocks the removal of partitions');
    if (exportProblem !== null)
      log.error({ problem: exportProblem }, 'export failed: nothing is removed; retrying in 10 min');
  }
}
