import { firstIdAt } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { Database } from '../../store/database/database.ts';
import {
  type RecentDelivery,
  type RecentEvent,
  recentDeliveries,
  recentEvents,
} from '../../store/history/recent-rows.ts';

/**
 * Follows the events and deliveries of one project for all watchers of this process.
 *
 *   quiet    -> there is no watcher: no query, and the watch is gone;
 *   polling  -> each second it reads the rows of the last 10 s and hands on those that are new, or whose state changed
 *               since they were handed on.
 *
 * Ids are made before their commit, so a row may appear behind others with later ids. The 10 s cover that: no row is
 * skipped, and none waits. A delivery whose state changes later than 10 s after it was made is not reported again. A
 * second with more than MAX_ROWS rows shows the newest, and says that there are more.
 */
export interface Recent {
  events: RecentEvent[];
  deliveries: RecentDelivery[];
  /** There are more than these. */
  hasMore: boolean;
}

export interface Watcher {
  /** Oldest first. Called each second, also with nothing. */
  seen(rows: Recent): void;
}

export const WINDOW_MS = 10_000;
const POLL_MS = 1_000;
const MAX_ROWS = 500;

interface ProjectWatchDeps {
  db: Database;
  /** The database's time in milliseconds. */
  now(): number;
  log: Logger;
}

export class ProjectWatch {
  readonly #deps: ProjectWatchDeps;
  readonly #projectId: string;
  readonly #watchers = new Set<Watcher>();
  /** The state in which each row of the window was handed on, by id. */
  readonly #known = new Map<string, string>();
  readonly #loop: Loop;

  constructor(deps: ProjectWatchDeps, projectId: string) {
    this.#deps = deps;
    this.#projectId = projectId;
    this.#loop = new Loop({
      turn: () => this.#poll(),
      onError: (error) =>
        deps.log.warn({ err: error, project: projectId }, 'failed to read for watchers; retrying in 1 s'),
      everyMs: POLL_MS,
    });
    this.#loop.start();
  }

  get size(): number {
    return this.#watchers.size;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
  }

  remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** The rows since a time, oldest first, whether they were handed on or not. */
  since(ms: number): Promise<Recent> {
    const { db } = this.#deps;
    const run = { from: firstIdAt(ms), limit: MAX_ROWS + 1 };
    return db.reading(this.#projectId, async (tx) => {
      const events = await recentEvents(tx, this.#projectId, run);
      const deliveries = await recentDeliveries(tx, this.#projectId, run);
      return {
        events: events.slice(0, MAX_ROWS).toReversed(),
        deliveries: deliveries.slice(0, MAX_ROWS).toReversed(),
        hasMore: events.length > MAX_ROWS || deliveries.length > MAX_ROWS,
      };
    });
  }

  async #poll(): Promise<void> {
    const fromMs = this.#deps.now() - WINDOW_MS;
    const { events, deliveries, hasMore } = await this.since(fromMs);
    const news = {
      events: events.filter(({ id, status }) => this.#isNews(id, status)),
      deliveries: deliveries.filter(({ id, status, num_trials }) =>
        this.#isNews(id, `${status} ${num_trials}`),
      ),
    };
    const isNews = news.events.length + news.deliveries.length > 0;
    this.#forget(firstIdAt(fromMs));
    for (const watcher of this.#watchers) watcher.seen({ ...news, hasMore: hasMore && isNews });
  }

  #isNews(id: string, state: string): boolean {
    if (this.#known.get(id) === state) return false;
    this.#known.set(id, state);
    return true;
  }

  #forget(below: string): void {
    for (const id of this.#known.keys()) if (id < below) this.#known.delete(id);
  }
}
