import { AppError } from '../../domain/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Database } from '../../store/database/database.ts';
import { ProjectWatch, type Watcher } from './project-watch.ts';

/** The watched projects of this process: one poller each, and bounded numbers of watchers. */
const MAX_WATCHERS = 500;
const MAX_OF_PROJECT = 50;
const RETRY_SECONDS = 10;

export class Watches {
  readonly #deps: { db: Database; now(): number; log: Logger };
  readonly #projects = new Map<string, ProjectWatch>();
  #watchers = 0;
  #isStopped = false;

  constructor(deps: { db: Database; now(): number; log: Logger }) {
    this.#deps = deps;
  }

  /** Throws if there are too many watchers, or this node is stopping. */
  enter(projectId: string, watcher: Watcher): { watch: ProjectWatch; leave(): void } {
    const known = this.#projects.get(projectId);
    if (this.#isStopped || this.#watchers >= MAX_WATCHERS || (known?.size ?? 0) >= MAX_OF_PROJECT)
      throw new AppError('overloaded', { retry: RETRY_SECONDS });
    const watch = known ?? new ProjectWatch(this.#deps, projectId);
    this.#projects.set(projectId, watch);
    watch.add(watcher);
    this.#watchers += 1;
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#watchers -= 1;
      watch.remove(watcher);
      if (watch.size > 0) return;
      this.#projects.delete(projectId);
      void watch.stop();
    };
    return { watch, leave };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#projects.values()].map((watch) => watch.stop()));
  }
}
