import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { Batcher } from '../platform/batcher.ts';
import type { Logger } from '../platform/logger.ts';
import type { Turns } from '../platform/turns.ts';
import type { Database } from '../store/database/database.ts';
import { isConnectionError, isDataError, isMissingPartition, isUndone } from '../store/database/pg-errors.ts';
import {
  type AcceptResult,
  acceptEvents,
  type Duplicates,
  storedDuplicates,
} from '../store/queue/accept-events.ts';
import type { DeliveryPlaces } from './delivery-places.ts';
import { insertLots, type PreparedLot, StaleProjects } from './insert-lots.ts';
import type { IntakeLimits } from './intake-limits.ts';
import type { Lot } from './lot.ts';
import {
  type AcceptedEvent,
  acceptBatch,
  acceptedEvent,
  isLarge,
  type PreparedEvent,
} from './prepare-event.ts';
import { isLost, LostAnswer, RETRY_SECONDS, refusalText, storeError } from './store-error.ts';

/**
 * Stores groups of events: those of a call, mostly one, or a lot of a broker. Groups that arrive at the same time share a
 * commit, those of calls one (a single statement) and lots another (insert-lots.ts). Waiting projects share a batch
 * evenly. A large ordered fan-out goes alone, after the one before it, and the others do not wait for it. While the
 * database is away no event waits long: those that waited longer than MAX_WAIT_MS are refused.
 *
 * Then for each event:
 *   stored     -> its leased deliveries go to the dispatcher;
 *   over limit -> its project or source accepts no more events for now: the error says when it will;
 *   stale      -> its project's config changed since matching: it is to be matched again;
 *   poisoned   -> the batch, then a group, is halved until the event that the database refuses is alone and fails alone;
 *   no partition -> partitions are created and the batch runs again;
 *   answer lost -> the same ids are sent again (the insert is idempotent) for a moment. Then it fails, and the
 *                 dispatcher learns that this node may lease rows it does not know;
 *   known      -> an answer was lost and the event had been stored: its deliveries are left to the queue;
 *   repeat     -> the message of a broker was stored before, and nothing is stored.
 */
export interface PreparedGroup {
  items: readonly PreparedEvent[];
  /** None is stored if one is refused. */
  isAllOrNothing: boolean;
  /** Its events are the messages of this lot. They are stored in their order, up to the first that fails. */
  lot?: Lot;
}

export const STALE = Symbol('stale');
export const REPEAT = Symbol('repeat');

export type EventResult = AcceptedEvent | Error | typeof STALE | typeof REPEAT;

type Results = Map<PreparedEvent, EventResult>;

type Inserted = Pick<AcceptResult, 'duplicates' | 'waiting'> &
  Partial<AcceptResult & { repeats: ReadonlySet<PreparedEvent> }>;

interface EventStoreDeps {
  db: Database;
  nodeId: string;
  metrics: Metrics;
  log: Logger;
  limits: IntakeLimits;
  places: DeliveryPlaces;
  /** One large ordered fan-out of this node at a time. */
  largeTurns: Turns;
  makePartitions(): Promise<void>;
}

interface Waiting {
  group: PreparedGroup;
  /** By the monotonic clock. */
  since: number;
}

const MAX_BATCH_WEIGHT = 500;
const BATCHES_IN_FLIGHT = 2;
const PACE_MS = 5;
const MAX_WAIT_MS = 3_000;
const BYTES_PER_WEIGHT = 4_096;
/** A try may begin this long after the first. The database's own limit bounds the length of a try. */
const TRY_AGAIN_FOR_MS = 1_000;
const LOST_ANSWER_PAUSE_MS = 300;

export class EventStore {
  readonly #deps: EventStoreDeps;
  readonly #shared: Batcher<Waiting, EventResult[]>;
  readonly #large: Batcher<Waiting, EventResult[]>;
  /** The last batch could not be stored. */
  #isAway = false;

  constructor(deps: EventStoreDeps) {
    this.#deps = deps;
    const sharer = ({ group }: Waiting) => group.items[0]?.event.projectId ?? '';
    this.#shared = new Batcher({
      run: (waiting) => this.#storeBatch(waiting),
      weigh: ({ group }) => group.items.reduce((sum, one) => sum + weigh(one), 0),
      sharer,
      maxWeight: MAX_BATCH_WEIGHT,
      maxInFlight: BATCHES_IN_FLIGHT,
      paceMs: PACE_MS,
    });
    this.#large = new Batcher({
      run: (waiting) => deps.largeTurns.run('', () => this.#storeBatch(waiting)),
      sharer,
      maxWeight: 1,
      maxInFlight: 1,
      paceMs: 0,
    });
  }

  /**
   * Waits for a place in a batch. Resolves with the results of the events, in order; those of a lot end with the first that
   * failed.
   */
  store(group: PreparedGroup): Promise<EventResult[]> {
    const ordered = group.items.reduce((sum, one) => sum + one.ordered, 0);
    const batcher = isLarge(ordered) ? this.#large : this.#shared;
    return batcher.add({ group, since: performance.now() });
  }

  /** Waits for all of them to be stored. */
  async drain(): Promise<void> {
    await Promise.all([this.#shared.drain(), this.#large.drain()]);
  }

  /** A slow database makes batches wait long. Events behind them are refused instead of tried in turn. */
  async #storeBatch(waiting: readonly Waiting[]): Promise<EventResult[][]> {
    const tooLate = performance.now() - MAX_WAIT_MS;
    const inTime = waiting.filter(({ since }) => since >= tooLate).map(({ group }) => group);
    const refused = await this.#deps.limits.refused(inTime);
    const results: Results = new Map(refused);
    const groups = inTime.map((group) => admitted(group, refused)).filter(({ items }) => items.length > 0);
    const calls = groups.filter((group) => !isLot(group));
    const lots = groups.filter(isLot);
    await Promise.all([this.#storeTogether(calls, results), this.#storeTogether(lots, results)]);
    return waiting.map(({ group: { items }, since }) => {
      if (since >= tooLate) return resultsOf(items, results);
      const code = this.#isAway ? 'database_unavailable' : 'overloaded';
      return items.map(() => new AppError(code, { retry: RETRY_SECONDS }));
    });
  }

  /** All of calls, or all lots. */
  async #storeTogether(groups: readonly PreparedGroup[], results: Results): Promise<void> {
    if (groups.length === 0) return;
    const items = itemsOf(groups);
    this.#deps.places.reserve(items);
    try {
      const inserted = await this.#insert(groups, items);
      const known = await this.#readKnown(items.filter(({ event }) => inserted.knownEvents?.has(event.id)));
      for (const item of items) results.set(item, this.#resultOf(item, inserted, known));
    } catch (error) {
      this.#deps.places.unreserve(items);
      await this.#failed(groups, error, results);
    }
  }

  async #insert(groups: readonly PreparedGroup[], items: readonly PreparedEvent[]): Promise<Inserted> {
    const { db, nodeId, metrics, places, makePartitions } = this.#deps;
    const lots = groups.filter(isLot);
    const isLots = lots.length > 0;
    const tryUntil = performance.now() + TRY_AGAIN_FOR_MS;
    let wasLost = false;
    for (let tries = 1; ; tries++) {
      try {
        const inserted: Inserted = isLots
          ? await insertLots(db, lots, nodeId)
          : await acceptEvents(db, acceptBatch(items, nodeId));
        const stored = items.length - (inserted.repeats?.size ?? 0);
        if (stored > 0) metrics.batchSize.accept.observe(stored);
        this.#isAway = false;
        return inserted;
      } catch (error) {
        this.#isAway = isConnectionError(error);
        if (this.#isAway && !isUndone(error)) {
          wasLost = true;
          // Noted here, because an event that is matched again gets other deliveries.
          places.unsure(items);
        }
        if (isMissingPartition(error) && tries === 1) await makePartitions();
        // A lot is handed in again, and is stored or found to be.
        else if (isLots) throw error;
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

  #resultOf(item: PreparedEvent, inserted: Inserted, known: Duplicates): EventResult {
    const { places, metrics } = this.#deps;
    const { id, projectId } = item.event;
    const isStale = inserted.staleProjects?.has(projectId) === true;
    if (isStale || inserted.repeats?.has(item) === true) {
      places.unreserve([item]);
      return isStale ? STALE : REPEAT;
    }
    const isKnown = inserted.knownEvents?.has(id) === true;
    const duplicateOf = (isKnown ? known : inserted.duplicates).get(id);
    if (!isKnown && duplicateOf === undefined) places.stored(item, inserted.waiting);
    else places.unreserve([item]);
    if (isKnown) places.unsure([item]);
    if (duplicateOf !== undefined) metrics.events.duplicate.inc();
    else if (item.event.status === 'Failure') metrics.events.unmatched.inc();
    else metrics.events.stored.inc();
    return acceptedEvent(item.event, duplicateOf);
  }

  async #failed(groups: readonly PreparedGroup[], error: unknown, results: Results): Promise<void> {
    if (error instanceof StaleProjects) {
      const stale = groups.filter(({ lot }) => error.ids.has(lot?.projectId ?? ''));
      for (const item of itemsOf(stale)) results.set(item, STALE);
      const others = groups.filter((group) => !stale.includes(group));
      return this.#storeTogether(others, results);
    }
    const halves = isDataError(error) ? halvesOf(groups) : null;
    if (halves !== null) {
      const [first, second] = halves;
      await this.#storeTogether(first, results);
      const isOneLot = groups.length === 1 && groups.some(isLot);
      if (isOneLot && resultsOf(itemsOf(first), results).some(isFault)) return;
      return this.#storeTogether(second, results);
    }
    if (isLost(error) && !groups.some(isLot)) {
      const items = itemsOf(groups);
      this.#deps.places.unsure(items);
      this.#deps.log.error({ err: error, events: items.length }, refusalText(error));
    }
    for (const group of groups) for (const item of group.items) results.set(item, groupError(group, error));
  }
}

const isLot = (group: PreparedGroup): group is PreparedGroup & PreparedLot => group.lot !== undefined;

export const isFault = (result: EventResult): result is Error | typeof STALE =>
  result === STALE || result instanceof Error;

const itemsOf = (groups: readonly PreparedGroup[]): PreparedEvent[] => groups.flatMap(({ items }) => items);

const resultsOf = (items: readonly PreparedEvent[], results: Results): EventResult[] =>
  items.flatMap((item) => results.get(item) ?? []);

/** How much of a batch it takes up. */
const weigh = ({ event, deliveries }: PreparedEvent): number =>
  1 + deliveries.length + event.payload.length / BYTES_PER_WEIGHT;

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
  return [[part(only, 0, middle)], [part(only, middle)]];
}

/** The events that no limit refuses. Those of a lot end where the first is refused. */
function admitted(group: PreparedGroup, refused: ReadonlyMap<PreparedEvent, Error>): PreparedGroup {
  if (refused.size === 0) return group;
  if (!isLot(group)) return { ...group, items: group.items.filter((item) => !refused.has(item)) };
  const end = group.items.findIndex((item) => refused.has(item));
  return end === -1 ? group : part(group, 0, end);
}

const part = (group: PreparedGroup, from: number, to?: number): PreparedGroup => ({
  ...group,
  items: group.items.slice(from, to),
  ...(isLot(group) && { lot: { ...group.lot, messages: group.lot.messages.slice(from, to) } }),
});
