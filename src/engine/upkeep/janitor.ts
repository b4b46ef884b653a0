import type { Place } from '../../domain/delivery.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { Loop, type LoopOptions } from '../../platform/loop.ts';
import { healMembers, lostMembers } from '../../store/batching/heal-members.ts';
import type { Database } from '../../store/database/database.ts';
import { wronglyAlerted } from '../../store/ordering/held-keys.ts';
import { healKeys, type KeyName, type StuckKey, stuckKeys } from '../../store/ordering/stuck-keys.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { Duty, type DutyName } from './duty.ts';
import { type RetentionReport, type RetentionRunDeps, runRetention } from './retention-run.ts';

/**
 * Regular upkeep, in two loops, so that the export of a large partition delays nothing but removal. One removes data older
 * than the retention. The other creates partitions ahead of need, and frees ordering keys and deliveries of batches that
 * wait for nothing. Both also run on each start, otherwise a node that never runs for long would never clean up. The next
 * run begins 10 min after the last one ended. A stop ends a run early. A duty that fails stops no other.
 */
export interface JanitorDeps
  extends Omit<RetentionRunDeps, 'duty'>,
    EnginePart<'databaseClock' | 'ids' | 'makePartitions' | 'log'> {
  /** Raises and clears alerts of held ordering keys. */
  ordering: { look(at: { projectId: ProjectId; subscriptionId: string }): void };
}

const EVERY_MS = 600_000;
const PAGES_PER_RUN = 200;

export class Janitor {
  readonly #deps: JanitorDeps;
  readonly #loops: readonly Loop[];
  /** Ordering keys up to here were looked at. */
  #lookedUpTo: KeyName | null = null;

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
    const lost = await this.#healKeys(duty, signal);
    if (lost > 0) log.error({ keys: lost }, 'released ordering keys that waited for a lost delivery');
    for (const found of await wronglyAlerted(db)) ordering.look(found);
  }

  /**
   * Lets the next deliveries of keys go that would wait for ever. Returns how many keys had no head that could be sent. A
   * run looks at so many keys at most, and the next one goes on from there.
   */
  async #healKeys(duty: Duty, signal: AbortSignal): Promise<number> {
    const { db, released } = this.#deps;
    let lost = 0;
    for (let page = 0; page < PAGES_PER_RUN && !signal.aborted; page++) {
      const { stuck, next } = await stuckKeys(db, this.#lookedUpTo);
      await duty.eachProject({
        find: async () => stuck,
        act: async (_, keys) => {
          released(await heal(db, keys));
          lost += keys.filter(({ state }) => state === 'lost').length;
        },
        signal,
      });
      this.#lookedUpTo = next;
      if (next === null) break;
    }
    return lost;
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

async function heal(db: Database, stuck: readonly StuckKey[]): Promise<Place[]> {
  const places: Place[] = [];
  for (let healed = stuck.length; healed > 0; ) {
    const done = await db.transaction((tx) => healKeys(tx, stuck));
    places.push(...done.released);
    healed = done.healed;
  }
  return places;
}
