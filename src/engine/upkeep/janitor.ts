import type { Metrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { RetentionReport } from './retention-run.ts';

/**
 * Regular upkeep: creates partitions ahead of need, and removes data older than the retention. It also runs
 * on each start, otherwise a node that never runs for long would never clean up. The next run begins 10 min after the
 * last one ended, however long that took, such as the export of a large partition. A stop ends a run early.
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
  readonly #loop: Loop;

  constructor(deps: JanitorDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#tidy(),
      onError: (error) => deps.log.warn({ err: error }, 'upkeep failed; retrying in 10 min'),
      everyMs: EVERY_MS,
    });
  }

  start(): void {
    this.#loop.start();
    this.#loop.wake();
  }

  stop(): Promise<void> {
    this.#stop.abort();
    return this.#loop.stop();
  }

  async #tidy(): Promise<void> {
    const { makePartitions, removeExpired } = this.#deps;
    await makePartitions();
    const report = await removeExpired(this.#stop.signal);
    if (report !== null) this.#report(report);
  }

  #report({ removed, waiting, discarded, exportProblem }: RetentionReport): void {
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
