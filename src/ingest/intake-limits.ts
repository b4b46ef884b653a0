import { AppError } from '../domain/errors.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Database } from '../store/database/database.ts';
import { takeFromWindows, type WindowRequest } from '../store/limits/intake-windows.ts';
import type { NewEvent } from './new-event.ts';
import type { PreparedEvent } from './prepare-event.ts';

/**
 * Enforces the `ratelimit` of projects and the `rate_limit` of sources. It costs nothing if no event of a
 * batch has a limit, else one statement per batch for the sources and one for the projects. If the source
 * admits an event and its project does not, the source's place is returned. An admitted event stays admitted
 * when it is matched again.
 */
type Limit = Pick<WindowRequest, 'key' | 'maxEvents' | 'seconds'>;
type Refused = Map<PreparedEvent, AppError>;

const NONE: ReadonlyMap<PreparedEvent, AppError> = new Map();

export class IntakeLimits {
  readonly #deps: { db: Database; cache: ConfigCache };
  readonly #admitted = new WeakSet<NewEvent>();

  constructor(deps: { db: Database; cache: ConfigCache }) {
    this.#deps = deps;
  }

  /** The items of a batch that are over a limit, with the errors for their callers. */
  async refused(
    groups: readonly { items: readonly PreparedEvent[]; isAllOrNothing: boolean }[],
  ): Promise<ReadonlyMap<PreparedEvent, AppError>> {
    const free = groups.filter(({ isAllOrNothing }) => !isAllOrNothing);
    const refused = new Map(await this.#refused(free.flatMap(({ items }) => items)));
    for (const { items, isAllOrNothing } of groups) {
      if (!isAllOrNothing) continue;
      for (const [item, error] of await this.#refusedTogether(items)) refused.set(item, error);
    }
    return refused;
  }

  async #refused(items: readonly PreparedEvent[]): Promise<ReadonlyMap<PreparedEvent, AppError>> {
    const fresh = items.filter(({ source }) => this.#isLimited(source) && !this.#admitted.has(source));
    if (fresh.length === 0) return NONE;
    const bySource = await this.#take(fresh, (event) => this.#sourceLimit(event));
    const left = fresh.filter((item) => !bySource.has(item));
    const byProject = await this.#take(left, (event) => this.#projectLimit(event));
    for (const item of left) if (!byProject.has(item)) this.#admitted.add(item.source);
    await this.#giveBack([...byProject.keys()], (event) => this.#sourceLimit(event));
    return new Map([...bySource, ...byProject]);
  }

  /** Admits all of the events or refuses all of them. */
  async #refusedTogether(items: readonly PreparedEvent[]): Promise<ReadonlyMap<PreparedEvent, AppError>> {
    const refused = await this.#refused(items);
    const [error] = refused.values();
    if (error === undefined) return refused;
    const admitted = items.filter((item) => !refused.has(item));
    for (const { source } of admitted) this.#admitted.delete(source);
    await this.#giveBack(admitted, (event) => this.#sourceLimit(event));
    await this.#giveBack(admitted, (event) => this.#projectLimit(event));
    return new Map(items.map((item) => [item, error]));
  }

  async #giveBack(
    items: readonly PreparedEvent[],
    limitOf: (event: NewEvent) => Limit | null,
  ): Promise<void> {
    const unused = group(items, limitOf);
    if (unused.length === 0) return;
    await takeFromWindows(
      this.#deps.db,
      unused.map(({ limit, items: under }) => ({ ...limit, wanted: -under.length })),
    );
  }

  async #take(items: readonly PreparedEvent[], limitOf: (event: NewEvent) => Limit | null): Promise<Refused> {
    const refused: Refused = new Map();
    const limited = group(items, limitOf);
    if (limited.length === 0) return refused;
    const requests = limited.map(({ limit, items: under }) => ({ ...limit, wanted: under.length }));
    const grants = await takeFromWindows(this.#deps.db, requests);
    for (const { limit, items: under } of limited) {
      const { granted, endsInSeconds } = grants.get(limit.key) ?? {
        granted: 0,
        endsInSeconds: limit.seconds,
      };
      for (const item of under.slice(granted)) refused.set(item, overLimit(limit, endsInSeconds));
    }
    return refused;
  }

  #isLimited(event: NewEvent): boolean {
    return this.#projectLimit(event) !== null || this.#sourceLimit(event) !== null;
  }

  #sourceLimit({ projectId, sourceId }: NewEvent): Limit | null {
    const source = sourceId === null ? undefined : this.#deps.cache.peek(projectId)?.sources.get(sourceId);
    return source === undefined ? null : limit(source.id, source.rate_limit, source.rate_limit_duration);
  }

  #projectLimit({ projectId }: NewEvent): Limit | null {
    const { count, duration } = this.#deps.cache.peek(projectId)?.project.config.ratelimit ?? {};
    return limit(projectId, count, duration);
  }
}

function limit(key: string, maxEvents = 0, seconds = 0): Limit | null {
  return maxEvents === 0 || seconds === 0 ? null : { key, maxEvents, seconds };
}

function group(
  items: readonly PreparedEvent[],
  limitOf: (event: NewEvent) => Limit | null,
): { limit: Limit; items: PreparedEvent[] }[] {
  const groups = new Map<string, { limit: Limit; items: PreparedEvent[] }>();
  for (const item of items) {
    const of = limitOf(item.source);
    if (of === null) continue;
    const known = groups.get(of.key);
    if (known === undefined) groups.set(of.key, { limit: of, items: [item] });
    else known.items.push(item);
  }
  return [...groups.values()];
}

function overLimit({ maxEvents, seconds }: Limit, endsInSeconds: number): AppError {
  const retry = Math.max(1, Math.ceil(endsInSeconds));
  return new AppError('rate_limited', { limit: maxEvents, duration: seconds, retry });
}
