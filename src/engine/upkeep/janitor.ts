import type { IdFactory, ProjectId } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop, type LoopOptions } from '../../platform/loop.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import { healMembers, lostMembers } from '../../store/batching/heal-members.ts';
import { wronglyAlerted } from '../../store/ordering/held-subscriptions.ts';
import type { Place } from '../../store/ordering/stuck-keys.ts';
import { Duty, type DutyName } from './duty.ts';
import { healStuckKeys } from './heal-keys.ts';
import { type RetentionReport, type RetentionRunDeps, runRetention } from './retention-run.ts';

/**
 * Regular upkeep, in two loops, so that the export of a large partition delays nothing but removal. One removes data older
 * than the retention. The other creates partitions ahead of need, and frees ordering keys and deliveries of batches that
 * wait for nothing. Both also run on each start, otherwise a node that never runs for long would never clean up. The next
 * run begins 10 min after the last one ended. A stop ends a run early. A duty that fails stops no other.
 */
export interface JanitorDeps extends Omit<RetentionRunDeps, 'duty'> {
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
  readonly #loops: readonly Loop[];
  /** Ordering keys up to here were looked at. */
  #lookedUpTo: Place | null = null;

  constructor(deps: JanitorDeps) {
    this.#deps = deps;
    const loop = (duty: DutyName, turn: LoopOptions['turn']) =>
      new Loop({ turn, onError: (error) => this.#duty(duty).failed(error), everyMs: EVERY_MS });
    this.#loops = [
      loop('removal', (signal) => this.#remove(signal)),
      loop('partitions', (signal) => this.#keep(signal)),
    ];
  }

  start(): void {
    for (const loop of this.#loops) {
      loop.start();
      loop.wake();
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }

  #duty(duty: DutyName): Duty {
    return new Duty(this.#deps, { duty, retryInMs: EVERY_MS });
  }

  async #remove(signal: AbortSignal): Promise<void> {
    const duty = (name: DutyName) => this.#duty(name);
    const nowMs = this.#deps.databaseClock.now();
    const report = await runRetention({ ...this.#deps, duty }, nowMs, signal);
    if (report !== null) this.#report(report);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    await this.#duty('partitions').run(() => this.#deps.makePartitions());
    const order = this.#duty('ordering_keys');
    await order.run(() => this.#lookAtOrder(order, signal));
    const batches = this.#duty('batches');
    await batches.run(() => this.#lookAtBatches(batches, signal));
  }

  async #lookAtOrder(duty: Duty, signal: AbortSignal): Promise<void> {
    const { db, ordering, log } = this.#deps;
    const { lost, next } = await healStuckKeys({ ...this.#deps, duty }, this.#lookedUpTo, signal);
    this.#lookedUpTo = next;
    if (lost > 0) log.error({ keys: lost }, 'released ordering keys that waited for a lost delivery');
    for (const found of await wronglyAlerted(db)) ordering.look(found);
  }

  async #lookAtBatches(duty: Duty, signal: AbortSignal): Promise<void> {
    const { db, ids, released, log } = this.#deps;
    let healed = 0;
    await duty.eachProject({
      find: () => lostMembers(db),
      act: async (_, batches) => {
        for (const lost of batches) {
          released([await healMembers(db, lost, ids.next())]);
          healed += 1;
        }
      },
      signal,
    });
    if (healed > 0) log.error({ batches: healed }, 'released deliveries of lost batches');
  }

  #report({ partitions, discarded }: RetentionReport): void {
    const { metrics, log } = this.#deps;
    if (discarded > 0) log.warn({ discarded }, 'discarded expired deliveries');
    if (partitions === undefined) return;
    const { removed, waiting, exportProblem } = partitions;
    metrics.exportFailing.set(exportProblem === null ? 0 : 1);
    if (removed.length > 0) log.info({ partitions: removed }, 'removed expired partitions');
    if (waiting.length > 0)
      log.info({ partitions: waiting }, 'a long transaction blocks the removal of partitions');
    if (exportProblem !== null)
      log.error({ problem: exportProblem }, 'export failed: nothing is removed; retrying in 10 min');
  }
}
