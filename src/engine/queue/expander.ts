import { isProjectAway } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { AcceptedCounts } from '../../metrics/accepted-counts.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { Loop } from '../../platform/loop.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { buildDelivery } from '../../routing/build-delivery.ts';
import type { Queryable } from '../../store/database/database.ts';
import { type Expansion, lockExpansion, removeExpansion, storeChunk } from '../../store/queue/expansions.ts';
import type { NewDelivery } from '../../store/queue/insert-deliveries.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/**
 * Expands fan-outs too large for one commit, a chunk per transaction. The deliveries of the chunk and the
 * cursor are stored together, so a node that dies has done the chunk or not begun it, and any node continues.
 * The subscriptions are those that matched when the event was accepted or replayed. One deleted since gets no delivery.
 *
 * This node wakes it when it stored one, and each second while one of any node is there.
 *
 * An expansion whose chunk fails waits, on this node, and those behind it go on. The wait doubles from 5 s to 5 min.
 * The expansion of a deleted project is dropped.
 */
export interface ExpanderDeps extends EnginePart<'db' | 'cache' | 'ids' | 'now' | 'log'> {
  maxRetrySeconds: number;
  /** New rows wait in the queue. */
  sweep(): Promise<void>;
  counts: Pick<AcceptedCounts, 'made'>;
}

const CHUNK = 1_000;
const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 300_000;
const MAX_FAILED = 1_000;

export class Expander {
  readonly #deps: ExpanderDeps;
  readonly #loop: Loop;
  /** Expansions whose last chunk failed here. */
  readonly #failed = new BoundedMap<string, { tries: number; waitsUntilMs: number }>(MAX_FAILED);

  constructor(deps: ExpanderDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#work(),
      onError: (error) => deps.log.warn({ err: error }, 'failed to look for large fan-outs; retrying in 1 s'),
    });
  }

  start(): void {
    this.#loop.start();
    this.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  wake(): void {
    this.#loop.wake();
  }

  async #work(): Promise<void> {
    let more = true;
    while (more && !this.#loop.isStopped) more = await this.#next();
  }

  /** Works on the oldest expansion that may be tried. False: there is none. */
  async #next(): Promise<boolean> {
    const { db, counts, sweep } = this.#deps;
    let taken: Expansion | undefined;
    let stored: NewDelivery[] | null = null;
    try {
      await db.transaction(async (tx) => {
        taken = await lockExpansion(tx, this.#waiting());
        if (taken !== undefined) stored = await this.#storeChunk(tx, taken);
      });
      if (taken === undefined) return false;
      if (stored === null) await this.#readConfig(taken.project_id);
    } catch (error) {
      if (taken === undefined) throw error;
      this.#fail(taken, error);
      return true;
    }
    this.#failed.delete(taken.id);
    if (stored !== null) {
      counts.made(taken.project_id, stored);
      await sweep();
    }
    return true;
  }

  /** The deliveries of the chunk. Null: no open config is in memory. It is read outside of the transaction. */
  async #storeChunk(tx: Queryable, expansion: Expansion): Promise<NewDelivery[] | null> {
    const { cache, ids, now, maxRetrySeconds } = this.#deps;
    const { project_id: projectId, event_id: id, event_type: eventType, subscription_ids } = expansion;
    const routing = cache.peek(projectId);
    if (routing === undefined) {
      if (!cache.isGone(projectId)) return null;
      await removeExpansion(tx, expansion);
      return [];
    }
    const isReplay = expansion.id !== id;
    const context = { routing, ids, nowMs: now(), maxRetrySeconds, isReplay };
    const event = {
      id,
      projectId,
      eventType,
      deliverAtMs: expansion.deliver_at,
      expiresAtMs: expansion.expires_at,
    };
    const done = Math.min(expansion.done + CHUNK, subscription_ids.length);
    const deliveries = subscription_ids
      .slice(expansion.done, done)
      .flatMap((subscriptionId) => routing.subscriptions.get(subscriptionId) ?? [])
      .map((subscription) => buildDelivery(event, subscription, context));
    await storeChunk(tx, expansion, { deliveries, done });
    return deliveries;
  }

  /** From the database: in memory a project may still be closed that is open again. */
  async #readConfig(projectId: ProjectId): Promise<void> {
    try {
      await this.#deps.cache.refresh(projectId);
    } catch (error) {
      // Its expansions are dropped, or not found.
      if (!isProjectAway(error)) throw error;
    }
  }

  /** Expansions that failed and are not due yet. */
  #waiting(): string[] {
    const nowMs = systemClock.elapsed();
    return [...this.#failed].filter(([, { waitsUntilMs }]) => waitsUntilMs > nowMs).map(([id]) => id);
  }

  #fail({ id, event_id: event, project_id: project }: Expansion, error: unknown): void {
    const tries = (this.#failed.get(id)?.tries ?? 0) + 1;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), MAX_WAIT_MS);
    this.#failed.set(id, { tries, waitsUntilMs: systemClock.elapsed() + waitMs });
    this.#deps.log.warn({ err: error, event, project, waitMs }, 'failed to expand a fan-out; retrying later');
  }
}
