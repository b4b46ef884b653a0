import type { IdFactory, ProjectId } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import { healMembers } from '../../store/batching/heal-members.ts';
import { wronglyAlerted } from '../../store/ordering/held-subscriptions.ts';
import type { Place } from '../../store/ordering/stuck-keys.ts';
import type { DiscardHeldDeps } from './discard-held.ts';
import { healStuckKeys } from './heal-keys.ts';
import { type RetentionReport, runRetention } from './retention-run.ts';

/**
 * Regular upkeep: creates partitions ahead of need, removes data older than the retention, and frees ordering keys and
 * deliveries of batches that wait for nothing. It also runs on each start, otherwise a node that never runs for long would never clean up. The next run begins 10 min after the
 * last one ended, however long that took, such as the export of a large partition. A stop ends a run early.
 */
export interface JanitorDeps extends DiscardHeldDeps {
  config: { retentionHours: number; exportDir: string };
  databaseClock: OffsetClock;
  ids: IdFactory;
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
  /** Ordering keys up to here were looked at. */
  #lookedUpTo: Place | null = null;

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
    await this.#lookAtOrder();
    await this.#lookAtBatches();
  }

  async #lookAtOrder(): Promise<void> {
    const { db, ordering, log } = this.#deps;
    const { lost, next } = await healStuckKeys(this.#deps, this.#lookedUpTo, this.#stop.signal);
    this.#lookedUpTo = next;
    if (lost > 0) log.error({ keys: lost }, 'released ordering keys that waited for a lost delivery');
    for (const found of await wronglyAlerted(db)) ordering.look(found);
  }

  async #lookAtBatches(): Promise<void> {
    const { db, ids, released, log } = this.#deps;
    const healed = await healMembers(db, () => ids.next());
    if (healed.length > 0) log.error({ batches: healed.length }, 'released deliveries of lost batches');
    released(healed);
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
