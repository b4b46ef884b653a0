import type { ProjectId } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import { wronglyAlerted } from '../../store/ordering/held-subscriptions.ts';
import type { DiscardHeldDeps } from './discard-held.ts';
import { type RetentionReport, runRetention } from './retention-run.ts';

/**
 * Regular upkeep: creates partitions ahead of need, and removes data older than the retention. It also runs
 * on each start, otherwise a node that never runs for long would never clean up. The next run begins 10 min after the
 * last one ended, however long that took, such as the export of a large partition. A stop ends a run early.
 */
export interface JanitorDeps extends DiscardHeldDeps {
  config: { retentionHours: number; exportDir: string };
  databaseClock: OffsetClock;
  makePartitions(): Promise<void>;
  /** Raises and clears alerts of held ordering keys. */
  ordering: { look(at: { projectId: ProjectId; subscriptionId: string }): void };
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
    const { config, databaseClock } = this.#deps;
    await this.#deps.makePartitions();
    const settings = { retentionHours: config.retentionHours, exportDirectory: config.exportDir };
    const report = await runRetention({ ...this.#deps, settings }, databaseClock.now(), this.#stop.signal);
    if (report !== null) this.#report(report);
    for (const found of await wronglyAlerted(this.#deps.db)) this.#deps.ordering.look(found);
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
