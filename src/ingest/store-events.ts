import { setTimeout as sleep } from 'node:timers/promises';
import type { EventId } from '../domain/ids.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from '../platform/logger.ts';
import type { Database } from '../store/database/database.ts';
import { isConnectionError, isDataError, isMissingPartition, isUndone } from '../store/database/pg-errors.ts';
import { acceptEvents, type Duplicates, storedDuplicates } from '../store/queue/accept-events.ts';
import type { DeliveryPlaces } from './delivery-places.ts';
import type { IntakeLimits } from './intake-limits.ts';
import { type AcceptedEvent, acceptBatch, acceptedEvent, type PreparedEvent } from './prepare-event.ts';
import { isLost, LostAnswer, refusalText, storeError } from './store-error.ts';

/**
 * Stores groups of events, all of a batch in one statement. A group is the events of one call, mostly one.
 * Then for each event:
 *   stored     -> its leased deliveries go to the dispatcher;
 *   over limit -> its project or source accepts no more events for now: the error says when it will;
 *   stale      -> its project's config changed since matching: it is to be matched again;
 *   poisoned   -> the batch, then a group, is halved until the event that the database refuses is alone and fails alone;
 *   no partition -> partitions are created and the batch runs again;
 *   answer lost -> the same ids are sent again (the insert is idempotent) for a moment. Then it fails, and the
 *                 dispatcher learns that this node may lease rows it does not know;
 *   known      -> an answer was lost and the event had been stored: its deliveries are left to the queue.
 */
export interface PreparedGroup {
  items: PreparedEvent[];
  /** None is stored if one is refused. */
  isAllOrNothing: boolean;
}

export const STALE = Symbol('stale');

export type EventResult = AcceptedEvent | Error | typeof STALE;

type Results = Map<EventId, EventResult>;

interface EventStoreDeps {
  db: Database;
  nodeId: string;
  metrics: Metrics;
  log: Logger;
  limits: IntakeLimits;
  places: DeliveryPlaces;
  makePartitions(): Promise<void>;
}

/** A try may begin this long after the first. The database's own limit bounds the length of a try. */
const TRY_AGAIN_FOR_MS = 1_000;
const LOST_ANSWER_PAUSE_MS = 300;

export class EventStore {
  readonly #deps: EventStoreDeps;
  #isAway = false;

  constructor(deps: EventStoreDeps) {
    this.#deps = deps;
  }

  /** The last batch could not be stored. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** The results of each group, in order. */
  async store(groups: readonly PreparedGroup[]): Promise<EventResult[][]> {
    const refused = await this.#refused(groups);
    const admitted = groups.map((group) =>
      refused.size === 0 ? group : { ...group, items: group.items.filter((item) => !refused.has(item)) },
    );
    const stored = await this.#storeTogether(admitted.filter(({ items }) => items.length > 0));
    return groups.map(({ items }) =>
      items.map((item) => refused.get(item) ?? (stored.get(item.event.id) as EventResult)),
    );
  }

  /** Events over a limit of their project or source. */
  async #refused(groups: readonly PreparedGroup[]): Promise<Map<PreparedEvent, Error>> {
    const { limits } = this.#deps;
    const free = groups.filter(({ isAllOrNothing }) => !isAllOrNothing).flatMap(({ items }) => items);
    const refused = new Map<PreparedEvent, Error>(await limits.refused(free));
    for (const { items, isAllOrNothing } of groups) {
      if (!isAllOrNothing) continue;
      for (const [item, error] of await limits.refusedTogether(items)) refused.set(item, error);
    }
    return refused;
  }

  async #storeTogether(groups: readonly PreparedGroup[]): Promise<Results> {
    if (groups.length === 0) return new Map();
    const items = groups.flatMap((group) => group.items);
    this.#deps.places.reserve(items);
    try {
      const { staleProjects, duplicates, knownEvents, waiting } = await this.#insert(items);
      const known = await this.#readKnown(items.filter(({ event }) => knownEvents.has(event.id)));
      const resultOf = (item: PreparedEvent): EventResult => {
        const { id, projectId } = item.event;
        if (staleProjects.has(projectId)) {
          this.#deps.places.unreserve([item]);
          return STALE;
        }
        if (knownEvents.has(id)) return this.#storedBefore(item, known.get(id));
        return this.#stored(item, duplicates.get(id), waiting);
      };
      return new Map(items.map((item) => [item.event.id, resultOf(item)]));
    } catch (error) {
      this.#deps.places.unreserve(items);
      return this.#failed(groups, error);
    }
  }

  async #insert(items: readonly PreparedEvent[]): ReturnType<typeof acceptEvents> {
    const batch = acceptBatch(items, this.#deps.nodeId);
    const tryUntil = performance.now() + TRY_AGAIN_FOR_MS;
    let wasLost = false;
    for (let tries = 1; ; tries++) {
      try {
        const accepted = await acceptEvents(this.#deps.db, batch);
        this.#deps.metrics.batchSize.accept.observe(items.length);
        this.#isAway = false;
        return accepted;
      } catch (error) {
        this.#isAway = isConnectionError(error);
        if (this.#isAway && !isUndone(error)) {
          wasLost = true;
          // Noted here, because an event that is matched again gets other deliveries.
          this.#deps.places.unsure(items);
        }
        if (isMissingPartition(error) && tries === 1) await this.#deps.makePartitions();
        else if (isConnectionError(error) && performance.now() < tryUntil) await sleep(LOST_ANSWER_PAUSE_MS);
        else throw wasLost ? new LostAnswer(error) : error;
      }
    }
  }

  /**
   * Which of the events that were stored before are duplicates, and of which event. Their rows are committed
   * by now.
   */
  async #readKnown(known: readonly PreparedEvent[]): Promise<Duplicates> {
    if (known.length === 0) return new Map();
    try {
      return await storedDuplicates(
        this.#deps.db,
        known.map(({ event }) => event),
      );
    } catch (error) {
      throw new LostAnswer(error);
    }
  }

  #storedBefore(item: PreparedEvent, duplicateOf: string | null | undefined): AcceptedEvent {
    this.#deps.places.unreserve([item]);
    this.#deps.places.unsure([item]);
    return acceptedEvent(item.event, duplicateOf);
  }

  #stored(
    item: PreparedEvent,
    duplicateOf: string | null | undefined,
    waiting: ReadonlySet<string>,
  ): AcceptedEvent {
    if (duplicateOf === undefined) this.#deps.places.stored(item, waiting);
    else this.#deps.places.unreserve([item]);
    return acceptedEvent(item.event, duplicateOf);
  }

  async #failed(groups: readonly PreparedGroup[], error: unknown): Promise<Results> {
    const halves = isDataError(error) ? halvesOf(groups) : null;
    if (halves !== null)
      return new Map([...(await this.#storeTogether(halves[0])), ...(await this.#storeTogether(halves[1]))]);
    const items = groups.flatMap((group) => group.items);
    if (isLost(error)) {
      this.#deps.places.unsure(items);
      this.#deps.log.error({ err: error, events: items.length }, refusalText(error));
    }
    return new Map(
      groups.flatMap((group) => group.items.map(({ event }) => [event.id, groupError(group, error)])),
    );
  }
}

/** A repeat of the call is safe only if each of its events has an idempotency key. */
function groupError({ items }: PreparedGroup, error: unknown): Error {
  const keyless = items.find(({ event }) => event.idempotencyKey === null);
  return storeError((keyless ?? (items[0] as PreparedEvent)).event, error);
}

/** Null: there is only one event, or a group that is stored as a whole. */
function halvesOf(groups: readonly PreparedGroup[]): [PreparedGroup[], PreparedGroup[]] | null {
  const half = Math.ceil(groups.length / 2);
  if (groups.length > 1) return [groups.slice(0, half), groups.slice(half)];
  const [only] = groups as [PreparedGroup];
  if (only.items.length === 1 || only.isAllOrNothing) return null;
  const middle = Math.ceil(only.items.length / 2);
  return [[{ ...only, items: only.items.slice(0, middle) }], [{ ...only, items: only.items.slice(middle) }]];
}
