import { AppError } from '../domain/errors.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Database } from '../store/database.ts';
import { takeFromWindows, type WindowGrant, type WindowRequest } from '../store/project-windows.ts';
import type { NewEvent } from './new-event.ts';
import type { PreparedEvent } from './prepare-event.ts';

/**
 * Holds projects to their `ratelimit`. Costs nothing while no project of a batch has one, else one statement per
 * batch. An event that was let in stays so when it has to be matched again.
 */
export class ProjectLimits {
  readonly #deps: { db: Database; cache: ConfigCache };
  readonly #admitted = new WeakSet<NewEvent>();

  constructor(deps: { db: Database; cache: ConfigCache }) {
    this.#deps = deps;
  }

  /** The items of a batch that are over their project's limit, with what to tell their callers. */
  async refused(items: readonly PreparedEvent[]): Promise<ReadonlyMap<PreparedEvent, AppError>> {
    const limited = new Map<string, { request: WindowRequest; items: PreparedEvent[] }>();
    for (const item of items) this.#collect(item, limited);
    const refused = new Map<PreparedEvent, AppError>();
    if (limited.size === 0) return refused;
    const requests = [...limited.values()].map(({ request }) => request);
    const grants = await takeFromWindows(this.#deps.db, requests);
    for (const { request, items: ofProject } of limited.values()) {
      const grant = grants.get(request.projectId);
      for (const [index, item] of ofProject.entries()) {
        if (index < (grant?.granted ?? 0)) this.#admitted.add(item.source);
        else refused.set(item, overLimit(request, grant));
      }
    }
    return refused;
  }

  #collect(
    item: PreparedEvent,
    limited: Map<string, { request: WindowRequest; items: PreparedEvent[] }>,
  ): void {
    const { projectId } = item.source;
    const limit = this.#deps.cache.peek(projectId)?.project.config.ratelimit;
    if (limit === undefined || limit.count === 0 || limit.duration === 0 || this.#admitted.has(item.source))
      return;
    const entry = limited.get(projectId) ?? {
      request: { projectId, wanted: 0, maxEvents: limit.count, seconds: limit.duration },
      items: [],
    };
    entry.request.wanted += 1;
    entry.items.push(item);
    limited.set(projectId, entry);
  }
}

function overLimit({ maxEvents, seconds }: WindowRequest, grant: WindowGrant | undefined): AppError {
  const retry = Math.max(1, Math.ceil(grant?.endsInSeconds ?? seconds));
  return new AppError('rate_limited', { limit: maxEvents, duration: seconds, retry });
}
