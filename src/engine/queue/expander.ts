import type { IdFactory } from '../../domain/ids.ts';
import type { Traffic } from '../../metrics/traffic.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import { buildDelivery } from '../../routing/build-delivery.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { Database } from '../../store/database/database.ts';
import { lockExpansion, storeChunk } from '../../store/queue/expansions.ts';

/**
 * Expands fan-outs too large for one commit, a chunk per transaction. The deliveries of the chunk and the
 * cursor are stored together, so a node that dies has done the chunk or not begun it, and any node continues.
 * The subscriptions are those that matched when the event was accepted. One deleted since gets no delivery.
 */
export interface ExpanderDeps {
  db: Database;
  cache: ConfigCache;
  ids: IdFactory;
  maxRetrySeconds: number;
  /** New rows wait in the queue. */
  sweep(): Promise<void>;
  traffic: Pick<Traffic, 'made'>;
  log: Logger;
}

const CHUNK = 1_000;
const LOOK_EVERY_MS = 5_000;

export class Expander {
  readonly #deps: ExpanderDeps;
  readonly #loop: Loop;

  constructor(deps: ExpanderDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#work(),
      onError: (error) => deps.log.warn({ err: error }, 'failed to expand a fan-out; retrying in 5 s'),
      everyMs: LOOK_EVERY_MS,
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
    while (!this.#loop.isStopped && (await this.#expandChunk())) await this.#deps.sweep();
  }

  async #expandChunk(): Promise<boolean> {
    const { db, cache, ids, maxRetrySeconds, traffic } = this.#deps;
    const stored = await db.transaction(async (tx) => {
      const expansion = await lockExpansion(tx);
      if (expansion === undefined) return null;
      const routing = await cache.get(expansion.project_id);
      const event = {
        id: expansion.event_id,
        projectId: expansion.project_id,
        eventType: expansion.event_type,
      };
      const done = Math.min(expansion.done + CHUNK, expansion.subscription_ids.length);
      const deliveries = expansion.subscription_ids
        .slice(expansion.done, done)
        .map((id) => routing.subscriptions.get(id))
        .filter((subscription) => subscription !== undefined)
        .map((subscription) => buildDelivery(event, subscription, { routing, ids, maxRetrySeconds }));
      await storeChunk(tx, expansion, { deliveries, done });
      return { projectId: expansion.project_id, deliveries };
    });
    if (stored !== null) traffic.made(stored.projectId, stored.deliveries);
    return stored !== null;
  }
}
