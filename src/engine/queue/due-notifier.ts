import type { Place } from '../../domain/delivery.ts';
import type { Logger } from '../../platform/logger.ts';
import type { HotQueryable } from '../../store/database/database.ts';
import { notifyDue } from '../../store/limits/rate-leases.ts';

/** A sweep of the delivering nodes has found them by then. */
const FOUND_BY_THEMSELVES_MS = 6_000;

/**
 * On a node that does not deliver: notifies delivering nodes where it stored due rows. They would find them
 * within five seconds; this is earlier. Nodes that look too early learn when the rows are due. One statement at a time, with all places collected meanwhile.
 */
export class DueNotifier {
  readonly #deps: { db: HotQueryable; log: Logger };
  readonly #places = new Map<string, Place>();
  #notifying: Promise<void> | undefined;

  constructor(deps: { db: HotQueryable; log: Logger }) {
    this.#deps = deps;
  }

  waiting(place: Place, dueInMs: number): void {
    if (dueInMs > FOUND_BY_THEMSELVES_MS) return;
    this.#places.set(`${place.lane} ${place.key}`, place);
    this.#start();
  }

  #start(): void {
    this.#notifying ??= this.#notify().finally(() => {
      this.#notifying = undefined;
      if (this.#places.size > 0) this.#start();
    });
  }

  async #notify(): Promise<void> {
    // Rows stored together share one notification.
    await Promise.resolve();
    while (this.#places.size > 0) {
      const places = [...this.#places.values()];
      this.#places.clear();
      try {
        await notifyDue(this.#deps.db, places);
      } catch (error) {
        this.#deps.log.debug(
          { err: error },
          'failed to notify nodes of waiting rows; they find them within 5 s',
        );
      }
    }
  }

  async stop(): Promise<void> {
    await this.#notifying;
  }
}
