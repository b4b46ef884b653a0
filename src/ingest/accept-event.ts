import type { DeliverySink } from '../domain/delivery-sink.ts';
import { AppError, type FieldProblem, invalidFields } from '../domain/errors.ts';
import type { EventId, IdFactory, ProjectId, SourceId } from '../domain/ids.ts';
import type { InFlightIds } from '../domain/in-flight-ids.ts';
import type { AcceptedCounts } from '../metrics/accepted-counts.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import { nextTurn } from '../platform/time/next-turn.ts';
import type { Turns } from '../platform/turns.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Database } from '../store/database/database.ts';
import { because, isConnectionError } from '../store/database/pg-errors.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { acceptLot } from './accept-lot.ts';
import { DeliveryPlaces } from './delivery-places.ts';
import { IntakeLimits } from './intake-limits.ts';
import type { Lot, LotAnswer, LotMessage } from './lot.ts';
import type { NewEvent } from './new-event.ts';
import {
  type AcceptedEvent,
  isLooped,
  MAX_DIRECT_TOGETHER,
  type PreparedEvent,
  prepareEvent,
  tooManyOrdered,
} from './prepare-event.ts';
import { applySourceFunctions } from './source-functions.ts';
import { RETRY_SECONDS } from './store-error.ts';
import { type EventResult, EventStore, type PreparedGroup, STALE } from './store-events.ts';
import { traceAccept } from './trace-accept.ts';
import { WaitingRoom } from './waiting-room.ts';

/**
 * The single entry point: every event from every source is matched and stored here with its deliveries, in a
 * commit shared with other events that arrived at the same time.
 *
 * The events of a call are a group: they are matched in their order and stored in one commit (store-events.ts). An event
 * whose project's config changed since matching is matched again and joins another batch. After a lost answer the callers
 * get `outcome_unknown` (or an error that nothing is stored, if no statement was sent). Lots of brokers share the
 * batches and have commits of their own (insert-lots.ts).
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
  /** A call, a message or a replay makes at most so many. */
  maxOrderedFanout: number;
  /** One large ordered fan-out of this node at a time. */
  largeTurns: Turns;
  sandbox: Sandbox;
  sealer: Sealer;
  metrics: Metrics;
  counts: Pick<AcceptedCounts, 'accepted'>;
  /** Null: tracing is off. */
  tracer: Tracer | null;
}

/** An event of a group was refused, for a reason of its own. */
export type GroupResult = AcceptedEvent | AppError;

/** An event to be matched, under the id it is stored with. */
interface IdentifiedEvent {
  source: NewEvent;
  id: EventId;
}

/** The fate of an event that is not stored. */
interface TriedEvent {
  event: NewEvent;
  prepared: PreparedEvent;
  routing: ProjectRouting;
  warnings: string[];
}

const MAX_ROUNDS = 20;
/** After so many events of a group other work has its turn. */
const MATCHED_AT_ONCE = 100;

export class EventAcceptor {
  readonly #deps: EventAcceptorDeps;
  readonly #store: EventStore;
  readonly #room = new WaitingRoom();

  constructor(deps: EventAcceptorDeps) {
    this.#deps = deps;
    this.#store = new EventStore({
      ...deps,
      limits: new IntakeLimits(deps),
      places: new DeliveryPlaces(deps),
    });
  }

  /** Resolves once the event and its deliveries are committed. */
  async accept(event: NewEvent): Promise<AcceptedEvent> {
    const [result] = (await this.acceptGroup([event])) as [GroupResult];
    if (result instanceof Error) throw result;
    return result;
  }

  /**
   * Resolves once the events and their deliveries are committed together, with one result for each. All are of one project.
   * With `isAllOrNothing` either none is refused, or each is.
   */
  acceptGroup(events: readonly NewEvent[], { isAllOrNothing = false } = {}): Promise<GroupResult[]> {
    const { tracer } = this.#deps;
    return tracer === null
      ? this.#accept(events, isAllOrNothing)
      : traceAccept(tracer, events, (traced) => this.#accept(traced, isAllOrNothing));
  }

  async #accept(received: readonly NewEvent[], isAllOrNothing: boolean): Promise<GroupResult[]> {
    const [one] = received;
    if (one === undefined) return [];
    const { inFlight, ids, metrics } = this.#deps;
    const bytes = received.reduce((sum, { payload }) => sum + payload.length, 0);
    const visitor = { projectId: one.projectId, bytes, events: received.length };
    const isIn = this.#room.enter(visitor);
    let first: EventId | undefined;
    try {
      if (!isIn) throw new AppError('overloaded', { retry: 1 });
      const sources: NewEvent[] = [];
      for (const event of received)
        sources.push(event.sourceId === null ? event : await this.#runFunctions(event, event.sourceId));
      if (!ids.isReady()) await ids.ready();
      // The first id holds those after it.
      first = inFlight.take<EventId>();
      const events = withIds(sources, first, ids);
      const results = await this.#storeChecked(events, isAllOrNothing);
      for (const result of results) if (result instanceof Error) metrics.events.refused.inc();
      return results;
    } catch (error) {
      metrics.events.refused.inc(received.length);
      // An event that may have been stored fails as `outcome_unknown`. Any other statement runs before the
      // insert.
      if (!isConnectionError(error)) throw error;
      throw new AppError('database_unavailable', { retry: RETRY_SECONDS }, because(error));
    } finally {
      if (first !== undefined) inFlight.release(first);
      if (isIn) this.#room.leave(visitor);
    }
  }

  /** Events that do not fit the schema of their type are refused, or get a warning, as the project says. */
  async #storeChecked(events: readonly IdentifiedEvent[], isAllOrNothing: boolean): Promise<GroupResult[]> {
    const { cache, metrics } = this.#deps;
    const { projectId } = (events[0] as IdentifiedEvent).source;
    const { schemas } = cache.peek(projectId) ?? (await cache.get(projectId));
    if (schemas === undefined) return this.#storeGroup(events, isAllOrNothing);
    const problems = await schemas.problemsOf(events.map(({ source }) => source));
    metrics.schemaMismatches[schemas.mode].inc(problems.filter(({ length }) => length > 0).length);
    if (schemas.mode === 'warn') {
      const results = await this.#storeGroup(events, isAllOrNothing);
      return results.map((result, n) => withWarnings(result, problems[n] ?? []));
    }
    if (isAllOrNothing) refuseTogether(problems);
    const fitting = events.filter((_, n) => problems[n]?.length === 0);
    const stored = fitting.length === 0 ? [] : await this.#storeGroup(fitting, isAllOrNothing);
    const rest = stored.values();
    return problems.map((found) =>
      found.length > 0 ? invalidFields(found) : (rest.next().value as GroupResult),
    );
  }

  /** Refuses an event that will not fit, before config is made for it. An event that fits is checked again. */
  async refuseUnfit(given: NewEvent): Promise<void> {
    const { cache, metrics } = this.#deps;
    const { schemas } = cache.peek(given.projectId) ?? (await cache.get(given.projectId));
    if (schemas?.mode !== 'refuse') return;
    const event = given.sourceId === null ? given : await this.#runFunctions(given, given.sourceId);
    const [problems = []] = await schemas.problemsOf([event]);
    if (problems.length === 0) return;
    metrics.schemaMismatches.refuse.inc();
    metrics.events.refused.inc();
    throw invalidFields(problems);
  }

  async #storeGroup(events: readonly IdentifiedEvent[], isAllOrNothing: boolean): Promise<GroupResult[]> {
    const results: EventResult[] = events.map(() => STALE);
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
      const left = rounds === 0 ? events : events.filter((_, n) => results[n] === STALE);
      const stored = await this.#store.store({ items: await this.#prepareAll(left), isAllOrNothing });
      let next = 0;
      for (let n = 0; n < results.length; n++)
        if (results[n] === STALE) results[n] = stored[next++] as EventResult;
      const fault = results.find((one) => one instanceof Error && !isRefusal(one));
      if (fault instanceof Error) throw fault;
      if (!results.includes(STALE)) return results as GroupResult[];
      await this.#deps.cache.refresh((left[0] as IdentifiedEvent).source.projectId);
    }
    // The config changed in every round, so it is written faster than a commit takes.
    throw new AppError('overloaded', { retry: 1 });
  }

  /**
   * An event as its source's functions make it, checked and matched by the config as it is. Nothing is stored or counted.
   */
  async trial(given: NewEvent): Promise<TriedEvent> {
    const event = given.sourceId === null ? given : await this.#runFunctions(given, given.sourceId);
    const routing = await this.#deps.cache.refresh(event.projectId);
    const [problems = []] = (await routing.schemas?.problemsOf([event])) ?? [];
    if (routing.schemas?.mode === 'refuse' && problems.length > 0) throw invalidFields(problems);
    const prepared = await this.#match(event, routing);
    refuseTooMany(prepared.ordered, this.#deps.maxOrderedFanout);
    return { event, prepared, routing, warnings: problems.map(warningOf) };
  }

  async #runFunctions(event: NewEvent, sourceId: SourceId): Promise<NewEvent> {
    if (isLooped(event)) return event;
    const { cache, ids, now, sandbox } = this.#deps;
    const routing = cache.peek(event.projectId) ?? (await cache.get(event.projectId));
    const source = routing.sources.get(sourceId);
    if (source === undefined || (source.header_function === '' && source.body_function === '')) return event;
    return applySourceFunctions(sandbox, source, { event, seed: ids.next(), nowMs: now() });
  }

  /**
   * Stores the messages of a lot together with their place in the broker. Functions of the source have run before.
   * Never fails: the answer says how far it came, and why not further.
   */
  async acceptLot(lot: Lot): Promise<LotAnswer> {
    const { cache, ids, inFlight } = this.#deps;
    const intake = {
      room: this.#room,
      ready: () => ids.ready(),
      prepare: (message: LotMessage, reason?: string) => this.#prepareMessage(message, reason),
      refresh: (projectId: ProjectId) => cache.refresh(projectId),
      store: (item: PreparedGroup) => this.#store.store(item),
    };
    const beforeAll = inFlight.take();
    try {
      return await acceptLot(intake, await this.#checkedLot(lot));
    } finally {
      inFlight.release(beforeAll);
    }
  }

  /** A message that does not fit becomes an event that failed, where it would be refused in a call. */
  async #checkedLot(lot: Lot): Promise<Lot> {
    const { cache, metrics } = this.#deps;
    const { schemas } = cache.peek(lot.projectId) ?? (await cache.get(lot.projectId));
    if (schemas === undefined) return lot;
    const problems = await schemas.problemsOf(lot.messages.map(({ event }) => event));
    const messages = lot.messages.map((message, n) => {
      const [first] = problems[n] ?? [];
      if (first === undefined) return message;
      metrics.schemaMismatches[schemas.mode].inc();
      const reason = `The event does not fit the schema of its type: ${first.field} ${first.problem}.`;
      return schemas.mode === 'warn' ? message : { ...message, event: message.refused(reason) };
    });
    return { ...lot, messages };
  }

  /** Waits for every accepted event to be stored. */
  drain(): Promise<void> {
    return this.#store.drain();
  }

  /** Events past the room of a commit get their deliveries after it. */
  async #prepareAll(events: readonly IdentifiedEvent[]): Promise<PreparedEvent[]> {
    const items: PreparedEvent[] = [];
    let room = MAX_DIRECT_TOGETHER;
    let ordered = 0;
    for (const { source, id } of events) {
      if (items.length > 0 && items.length % MATCHED_AT_ONCE === 0) await nextTurn();
      const routing =
        this.#deps.cache.peek(source.projectId) ?? (await this.#deps.cache.get(source.projectId));
      const matched = this.#match(source, routing, { id, room });
      const item = matched instanceof Promise ? await matched : matched;
      room -= item.deliveries.length;
      ordered += item.ordered;
      refuseTooMany(ordered, this.#deps.maxOrderedFanout);
      items.push(item);
    }
    return items;
  }

  /** With a reason, or with too many ordered deliveries, it becomes an event that failed, and counts once by limits. */
  async #prepareMessage({ event, refused }: LotMessage, reason?: string): Promise<PreparedEvent> {
    const failed = async (why: string) => ({ ...(await this.#prepare(refused(why))), source: event });
    if (reason !== undefined) return failed(reason);
    const item = await this.#prepare(event);
    const error = tooManyOrdered('message', item.ordered, this.#deps.maxOrderedFanout);
    return error === undefined ? item : failed(error.message);
  }

  async #prepare(source: NewEvent): Promise<PreparedEvent> {
    const { cache } = this.#deps;
    return this.#match(source, cache.peek(source.projectId) ?? (await cache.get(source.projectId)));
  }

  #match(
    source: NewEvent,
    routing: ProjectRouting,
    { id, room }: { id?: EventId; room?: number } = {},
  ): PreparedEvent | Promise<PreparedEvent> {
    const { ids, now, maxRetrySeconds, sealer } = this.#deps;
    return prepareEvent(source, routing, { ids, nowMs: now(), maxRetrySeconds, sealer, eventId: id, room });
  }
}

const withIds = (sources: readonly NewEvent[], first: EventId, ids: IdFactory): IdentifiedEvent[] =>
  sources.map((source, n) => ({ source, id: n === 0 ? first : ids.next<EventId>() }));

function refuseTooMany(ordered: number, limit: number): void {
  const error = tooManyOrdered('call', ordered, limit);
  if (error !== undefined) throw error;
}

function withWarnings(result: GroupResult, problems: readonly FieldProblem[]): GroupResult {
  if (result instanceof Error || problems.length === 0) return result;
  return { ...result, warnings: problems.map(warningOf) };
}

const warningOf = ({ field, problem }: FieldProblem): string => `${field}: ${problem}`;

/** None of a call is stored if one does not fit. */
function refuseTogether(problems: readonly (readonly FieldProblem[])[]): void {
  const all = problems.flatMap((found, n) =>
    found.map(({ field, problem }) => ({ field: `events[${n}].${field}`, problem })),
  );
  if (all.length > 0) throw invalidFields(all);
}

/** The event itself is refused. Any other error is one of the whole call. */
const isRefusal = (error: Error): error is AppError =>
  error instanceof AppError && (error.code === 'rate_limited' || error.code === 'validation_failed');
