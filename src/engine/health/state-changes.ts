import { AppError } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { Batcher } from '../../platform/batcher.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Clock } from '../../platform/time/clock.ts';

/**
 * Changes of state that outcomes of deliveries request: breakers, alerts, endpoints that become inactive.
 * waiting -> items wait for the running batch. There is one batch at a time, so all of this work uses one connection
 *            for any number of failing endpoints. An item whose key waits already is dropped.
 * batch   -> shared evenly by the waiting projects. `change` gets all items of a project at once, for one
 *            transaction and one config version.
 *
 * These changes are advisory: a failure is logged, and the next outcome of the endpoint requests the change
 * again.
 */
export interface StateItem {
  projectId: ProjectId;
  /** Items with the same key request the same change. Absent: each counts. */
  key?: string;
}

const MAX_BATCH = 1_000;
const NO_STATE: ReadonlySet<string> = new Set(['project_not_found', 'project_moving']);
/** The minimum time between two batches: at most four config versions a second for a project. */
const PACE_MS = 250;

export interface StateChangesOptions<Item> {
  change(projectId: ProjectId, items: Item[]): Promise<void>;
  clock?: Clock;
  log: Logger;
}

export class StateChanges<Item extends StateItem> {
  readonly #batcher: Batcher<Item, void>;
  readonly #waiting = new Set<string>();

  constructor(options: StateChangesOptions<Item>) {
    this.#batcher = new Batcher({
      run: async (items) => {
        for (const [projectId, own] of Map.groupBy(items, (item) => item.projectId)) {
          for (const { key } of own) if (key !== undefined) this.#waiting.delete(key);
          try {
            await options.change(projectId, own);
          } catch (error) {
            // A deleted project has no state to change. That of one that moves changes after its next outcome.
            if (error instanceof AppError && NO_STATE.has(error.code)) continue;
            options.log.warn(
              { err: error, project: projectId, changes: own.length },
              'failed to change the state of endpoints; the next outcome retries',
            );
          }
        }
        return [];
      },
      sharer: (item) => item.projectId,
      maxWeight: MAX_BATCH,
      maxInFlight: 1,
      paceMs: PACE_MS,
      ...(options.clock && { clock: options.clock }),
    });
  }

  add(item: Item): void {
    if (item.key !== undefined) {
      if (this.#waiting.has(item.key)) return;
      this.#waiting.add(item.key);
    }
    // The batch settles each of its items, even if the change fails.
    void this.#batcher.add(item);
  }

  /** Waits for all requested changes. */
  drain(): Promise<void> {
    return this.#batcher.drain();
  }
}
