import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import { AppError } from '../domain/errors.ts';
import type { EventId, IdFactory, ProjectId } from '../domain/ids.ts';
import type { InFlightIds } from '../domain/in-flight-ids.ts';
import type { AcceptedCounts } from '../metrics/accepted-counts.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { Batcher } from '../platform/batcher.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Database } from '../store/database/database.ts';
import { isConnectionError, isDataError, isMissingPartition, isUndone } from '../store/database/pg-errors.ts';
import { acceptEvents, type Duplicates, storedDuplicates } from '../store/queue/accept-events.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { acceptLot } from './accept-lot.ts';
import { DeliveryPlaces } from './delivery-places.ts';
import { IntakeLimits } from './intake-limits.ts';
import type { Lot, LotAnswer } from './lot.ts';
import type { NewEvent } from './new-event.ts';
import {
  type AcceptedEvent,
  acceptBatch,
  acceptedEvent,
  isLooped,
  type PreparedEvent,
  prepareEvent,
} from './prepare-event.ts';
import { applySourceFunctions } from './source-functions.ts';
import { isLost, LostAnswer, RETRY_SECONDS, storeError } from './store-error.ts';
import { isLot, type LotResult, LotStore, type PreparedLot, STALE, weigh } from './store-lots.ts';
import { traceAccept } from './trace-accept.ts';
import { WaitingRoom } from './waiting-room.ts';

/**
 * The single entry point: every event from every source is matched and stored here with its deliveries, in a
 * commit shared with other events that arrived at the same time.
 *
 * A batch reserves places in the dispatcher's window and runs the statement. Then for each event:
 *   stored     -> its leased deliveries go to the dispatcher, and the caller gets its answer;
 *   over limit -> its project or source accepts no more events for now: the error says when it will;
 *   stale      -> its project's config changed since matching: it is matched again and joins another batch;
 *   poisoned   -> the batch is halved until the event that the database refuses is alone and fails alone;
 *   no partition -> partitions are created and the batch runs again;
 *   answer lost -> the same ids are sent again (the insert is idempotent) for a moment. Then the callers get
 *                 `outcome_unknown` (or an error that the event is not stored, if no statement was sent), and the
 *                 dispatcher learns that this node may lease rows it does not know;
 *   known      -> an answer was lost and the event had been stored: the caller gets its answer, and the
 *                 deliveries are left to the queue.
 *
 * Waiting projects share a batch evenly. While the database is away no event waits long: events that waited
 * longer than MAX_WAIT_MS are refused.
 */
export interface EventAcceptorDeps {
  db: Database;
  cache: ConfigCache;
  ids: IdFactory;
  inFlight: InFlightIds;
  /** The database's time in milliseconds. */
  now(): number;
  nodeId: string;
  sink: DeliverySink;
  makePartitions(): Promise<void>;
  log: Logger;
  maxRetrySeconds: number;
  sandbox: Sandbox;
  sealer: Sealer;
  metrics: Metrics;
  counts: Pick<AcceptedCounts, 'accepted'>;
  /** Null: tracing is off. */
  tracer: Tracer | null;
}

type Result = AcceptedEvent | Error | typeof STALE;

const MAX_ROUNDS = 20;
const MAX_BATCH_WEIGHT = 500;
const BATCHES_IN_FLIGHT = 2;
const PACE_MS = 5;
const MAX_WAIT_MS = 3_000;
/** A try may begin this long after the first. The database's own limit bounds the length of a try. */
const TRY_AGAIN_FOR_MS = 1_000;
const LOST_ANSWER_PAUSE_MS = 300;

interface Waiting {
  /** An event, or a lot of a broker. */
  item: PreparedEvent | PreparedLot;
  /** By the monotonic clock. */
  since: number;
}

export class EventAcceptor {
  readonly #deps: EventAcceptorDeps;
  readonly #batcher: Batcher<Waiting, Result | LotResult>;
  readonly #limits: IntakeLimits;
  readonly #places: DeliveryPlaces;
  readonly #lots: LotStore;
  readonly #room = new WaitingRoom();
  /** The last batch could not be stored. */
  #isAway = false;

  constructor(deps: EventAcceptorDeps) {
    this.#deps = deps;
    this.#limits = new IntakeLimits(deps);
    this.#places = new DeliveryPlaces(deps);
    const prepare = (event: NewEvent, id?: EventId) => this.#prepare(event, id);
    this.#lots = new LotStore({ ...deps, limits: this.#limits, places: this.#places, prepare });
    this.#batcher = new Batcher({
      run: (waiting) => this.#storeInTime(waiting),
      weigh: ({ item }) => weigh(item),
      sharer: ({ item }) => (isLot(item) ? item.lot.projectId : item.event.projectId),
      maxWeight: MAX_BATCH_WEIGHT,
      maxInFlight: BATCHES_IN_FLIGHT,
      paceMs: PACE_MS,
    });
  }

  /** Resolves once the event and its deliveries are committed. */
  accept(event: NewEvent): Promise<AcceptedEvent> {
    const { tracer } = this.#deps;
    return tracer === null
      ? this.#acceptCounted(event)
      : traceAccept(tracer, event, (traced) => this.#acceptCounted(traced));
  }

  async #acceptCounted(event: NewEvent): Promise<AcceptedEvent> {
    const { events } = this.#deps.metrics;
    try {
      const accepted = await this.#enterAndAccept(event);
      if (accepted.isDuplicate) events.duplicate.inc();
      else if (accepted.event.status === 'Failure') events.unmatched.inc();
      else events.stored.inc();
      return accepted;
    } catch (error) {
      events.refused.inc();
      throw error;
    }
  }

  async #enterAndAccept(event: NewEvent): Promise<AcceptedEvent> {
    const visitor = { projectId: event.projectId, bytes: event.payload.length };
    if (!this.#room.enter(visitor)) throw new AppError('overloaded', { retry: 1 });
    try {
      return await this.#accept(event);
    } catch (error) {
      // An event that may have been stored fails as `outcome_unknown`. Any other statement runs before the
      // insert.
      if (!isConnectionError(error)) throw error;
      throw new AppError('database_unavailable', { retry: RETRY_SECONDS }, { cause: error });
    } finally {
      this.#room.leave(visitor);
    }
  }

  async #accept(received: NewEvent): Promise<AcceptedEvent> {
    const event = await this.#runFunctions(received);
    const { inFlight } = this.#deps;
    const id = inFlight.take<EventId>();
    try {
      return await this.#storeAs(id, event);
    } finally {
      inFlight.release(id);
    }
  }

  async #storeAs(id: EventId, event: NewEvent): Promise<AcceptedEvent> {
    let prepared = await this.#prepare(event, id);
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const waiting = { item: prepared, since: performance.now() };
      const result = (await this.#batcher.add(waiting)) as Result;
      if (result instanceof Error) throw result;
      if (result !== STALE) return result;
      await this.#deps.cache.refresh(event.projectId);
      prepared = await this.#prepare(event, id);
    }
    // The config changed in every round, so it is written faster than a commit takes.
    throw new AppError('overloaded', { retry: 1 });
  }

  async #runFunctions(event: NewEvent): Promise<NewEvent> {
    if (event.sourceId === null || isLooped(event)) return event;
    const { cache, ids, now, sandbox } = this.#deps;
    const routing = cache.peek(event.projectId) ?? (await cache.get(event.projectId));
    const source = routing.sources.get(event.sourceId);
    if (source === undefined || (source.header_function === '' && source.body_function === '')) return event;
    return applySourceFunctions(sandbox, source, { event, seed: ids.next(), nowMs: now() });
  }

  /**
   * Stores the messages of a lot together with their place in the broker. Functions of the source have run before.
   * Never fails: the answer says how far it came, and why not further.
   */
  async acceptLot(lot: Lot): Promise<LotAnswer> {
    const { cache, inFlight } = this.#deps;
    const door = {
      room: this.#room,
      prepare: (event: NewEvent) => this.#prepare(event),
      refresh: (projectId: ProjectId) => cache.refresh(projectId),
      store: async (item: PreparedLot) => {
        const result = await this.#batcher.add({ item, since: performance.now() });
        return result as LotResult | Error;
      },
    };
    const beforeAll = inFlight.take();
    try {
      return await acceptLot(door, lot);
    } finally {
      inFlight.release(beforeAll);
    }
  }

  /** Waits for every accepted event to be stored. */
  drain(): Promise<void> {
    return this.#batcher.drain();
  }

  async #prepare(source: NewEvent, eventId?: EventId): Promise<PreparedEvent> {
    const { cache, ids, now, maxRetrySeconds, sealer } = this.#deps;
    const routing = cache.peek(source.projectId) ?? (await cache.get(source.projectId));
    return prepareEvent(source, routing, {
      ids,
      nowMs: now(),
      maxRetrySeconds,
      sealer,
      ...(eventId !== undefined && { eventId }),
    });
  }

  /** A slow database makes batches wait long. Events behind them are refused instead of tried in turn. */
  async #storeInTime(waiting: Waiting[]): Promise<(Result | LotResult)[]> {
    const tooLate = performance.now() - MAX_WAIT_MS;
    const inTime = waiting.filter(({ since }) => since >= tooLate).map(({ item }) => item);
    const [stored, lots] = await Promise.all([
      this.#admitAndStore(inTime.filter((item): item is PreparedEvent => !isLot(item))),
      this.#storeLots(inTime.filter(isLot)),
    ]);
    const results = stored.values();
    const lotResults = lots.values();
    return waiting.map(({ item, since }) =>
      since >= tooLate
        ? ((isLot(item) ? lotResults : results).next().value as Result | LotResult)
        : new AppError(this.#isAway ? 'database_unavailable' : 'overloaded', { retry: RETRY_SECONDS }),
    );
  }

  /** A lot that fails does not fail the events of the same batch. */
  async #storeLots(lots: PreparedLot[]): Promise<LotResult[]> {
    if (lots.length === 0) return [];
    try {
      return await this.#lots.store(lots);
    } catch (error) {
      return lots.map(() => ({ done: 0, stored: 0, repeats: 0, error: error as Error }));
    }
  }

  /** Refuses events over a limit of their project or source, and stores the rest. */
  async #admitAndStore(items: PreparedEvent[]): Promise<Result[]> {
    if (items.length === 0) return [];
    const refused = await this.#limits.refused(items);
    const stored = await this.#store(items.filter((item) => !refused.has(item)));
    let next = 0;
    return items.map((item) => refused.get(item) ?? (stored[next++] as Result));
  }

  async #store(items: PreparedEvent[]): Promise<Result[]> {
    if (items.length === 0) return [];
    const current = await this.#alignVersions(items);
    this.#places.reserve(current);
    try {
      const { staleProjects, duplicates, knownEvents, waiting } = await this.#insert(current);
      const known = await this.#readKnown(current.filter(({ event }) => knownEvents.has(event.id)));
      return current.map((item) => {
        const { id, projectId } = item.event;
        if (staleProjects.has(projectId)) {
          this.#places.unreserve([item]);
          return STALE;
        }
        if (knownEvents.has(id)) return this.#storedBefore(item, known.get(id));
        return this.#stored(item, duplicates.get(id), waiting);
      });
    } catch (error) {
      this.#places.unreserve(current);
      return this.#failed(current, error);
    }
  }

  /** A batch compares one config version per project, so an item matched before a refresh is matched again. */
  async #alignVersions(items: PreparedEvent[]): Promise<PreparedEvent[]> {
    const newest = new Map<string, number>();
    for (const { event } of items) {
      newest.set(event.projectId, Math.max(newest.get(event.projectId) ?? 0, event.configVersion));
    }
    const aligned: PreparedEvent[] = [];
    for (const item of items) {
      const isCurrent = item.event.configVersion === newest.get(item.event.projectId);
      aligned.push(isCurrent ? item : await this.#prepare(item.source, item.event.id));
    }
    return aligned;
  }

  async #insert(items: PreparedEvent[]): ReturnType<typeof acceptEvents> {
    const batch = acceptBatch(items, this.#deps.nodeId);
    const tryUntil = performance.now() + TRY_AGAIN_FOR_MS;
    let isLost = false;
    for (let tries = 1; ; tries++) {
      try {
        const accepted = await acceptEvents(this.#deps.db, batch);
        this.#deps.metrics.batchSize.accept.observe(items.length);
        this.#isAway = false;
        return accepted;
      } catch (error) {
        this.#isAway = isConnectionError(error);
        if (this.#isAway && !isUndone(error)) {
          isLost = true;
          // Noted here, because an event that is matched again gets other deliveries.
          this.#places.unsure(items);
        }
        if (isMissingPartition(error) && tries === 1) await this.#deps.makePartitions();
        else if (isConnectionError(error) && performance.now() < tryUntil) await sleep(LOST_ANSWER_PAUSE_MS);
        else throw isLost ? new LostAnswer(error) : error;
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
    this.#places.unreserve([item]);
    this.#places.unsure([item]);
    return acceptedEvent(item.event, duplicateOf);
  }

  #stored(
    item: PreparedEvent,
    duplicateOf: string | null | undefined,
    waiting: ReadonlySet<string>,
  ): AcceptedEvent {
    if (duplicateOf === undefined) this.#places.stored(item, waiting);
    else this.#places.unreserve([item]);
    return acceptedEvent(item.event, duplicateOf);
  }

  async #failed(items: PreparedEvent[], error: unknown): Promise<Result[]> {
    if (isDataError(error) && items.length > 1) {
      const half = Math.ceil(items.length / 2);
      return [...(await this.#store(items.slice(0, half))), ...(await this.#store(items.slice(half)))];
    }
    if (isLost(error)) {
      this.#places.unsure(items);
      this.#deps.log.error(
        { err: error, events: items.length },
        'refused events: the database cannot be reached',
      );
    }
    return items.map(({ event }) => storeError(event, error));
  }
}
