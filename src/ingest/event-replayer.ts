import type { Actor } from '../domain/audit.ts';
import { LANE } from '../domain/delivery.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import type { AppError } from '../domain/errors.ts';
import { type EndpointId, firstIdAt, type ProjectId } from '../domain/ids.ts';
import type { AcceptedCounts } from '../metrics/accepted-counts.ts';
import type { Turns } from '../platform/turns.ts';
import { buildDelivery } from '../routing/build-delivery.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import { audited } from '../store/audit/audit-entries.ts';
import type { Database, Queryable } from '../store/database/database.ts';
import { isMissingPartition } from '../store/database/pg-errors.ts';
import { eventsOfEndpoint } from '../store/history/event-deliveries.ts';
import { eventConditions, eventsAfter, type StoredEvent } from '../store/history/events.ts';
import type { NewDelivery } from '../store/queue/insert-deliveries.ts';
import { insertReplay, saveContent } from '../store/queue/replay-events.ts';
import { type DecodeDeps, type DecodedEvent, decodeStoredEvent } from './decode-stored-event.ts';
import { isLarge, MAX_DIRECT, prepareEvent, tooManyOrdered } from './prepare-event.ts';

/**
 * Replays stored events. Each is matched again with the current config and its original target, and gets new
 * deliveries. An event that failed in a function of its source passes through it again.
 *
 * A replay that matches over 1,000 subscriptions commits their list and not their deliveries, as accepting does.
 * `src/engine/queue/expander.ts` makes the deliveries in chunks. So a replay is stored whole or not at all. A transaction
 * with more than 1,000 deliveries has one replay with ordered ones.
 */
export interface EventReplayerDeps extends DecodeDeps {
  db: Database;
  sink: DeliverySink;
  makePartitions(): Promise<void>;
  maxRetrySeconds: number;
  maxOrderedFanout: number;
  largeTurns: Turns;
  counts: Pick<AcceptedCounts, 'made'>;
}

const CHUNK_EVENTS = 100;
/** So many stored events are matched again for a device. */
const DEVICE_EVENTS = 1_000;

export interface ReplayContext {
  routing: ProjectRouting;
  lane: number;
  only: readonly string[] | undefined;
  /** Its deliveries take no place in ordering keys. */
  ignoresOrder?: boolean;
}

/** An event matched again. Its deliveries, or the subscriptions of its deliveries if they are many. */
interface Rematched {
  event: Parameters<typeof insertReplay>[1]['event'];
  deliveries: NewDelivery[];
  expansion: string[] | null;
  /** It matches others alone, and was for none of those that may get it. */
  isForOthers: boolean;
  /** How many of them are of subscriptions with an order. */
  ordered: number;
}

const noReplays = (): Replayed => ({ deliveries: [], isExpanding: false, counts: [], failed: 0 });

/** The result of some replays in one transaction. */
export interface Replayed {
  deliveries: NewDelivery[];
  isExpanding: boolean;
  /** Deliveries of each event, those that are still made included. */
  counts: number[];
  /** Events without deliveries, except those for others. */
  failed: number;
}

export class EventReplayer {
  readonly #deps: EventReplayerDeps;

  constructor(deps: EventReplayerDeps) {
    this.#deps = deps;
  }

  /**
   * The number of new deliveries, those that are still made included. If endpoints are given, only those get one: a
   * portal replays for its owner alone.
   */
  async replay(
    stored: StoredEvent,
    { actor, ...how }: { actor: Actor } & Pick<ReplayContext, 'only' | 'ignoresOrder'>,
  ): Promise<number> {
    const { project_id: projectId, id } = stored;
    const routing = await this.#deps.cache.refresh(projectId);
    const decoded = await decodeStoredEvent(this.#deps, stored, routing);
    const matched = await this.#match(decoded, { routing, ...how });
    const refusal = this.#refusal(matched);
    if (refusal !== undefined) throw refusal;
    const store = () =>
      audited(this.#deps, { projectId, actor }, async (tx) => {
        const result = noReplays();
        await this.#insert(tx, result, { decoded, matched, lane: LANE.first });
        const after = { deliveries: result.counts[0] ?? 0 };
        return { result, audit: [{ action: 'event.replayed', resourceId: id, before: null, after }] };
      });
    const run = () =>
      store().catch(async (error: unknown) => {
        if (!isMissingPartition(error)) throw error;
        await this.#deps.makePartitions();
        return store();
      });
    const replayed = await (isLarge(matched.ordered) ? this.#deps.largeTurns.run(projectId, run) : run());
    this.made(projectId, replayed, LANE.first);
    return replayed.counts[0] ?? 0;
  }

  /**
   * Matches stored events again for one device, oldest first, in chunks. Events that it has a delivery of already are left
   * out. Returns the number of new deliveries.
   */
  async forDevice(projectId: ProjectId, device: { id: EndpointId; fromMs: number }): Promise<number> {
    const { db, cache, now } = this.#deps;
    const routing = await cache.refresh(projectId);
    const context = { routing, lane: LANE.first, only: [device.id] };
    const before = firstIdAt(now() + 1);
    let after = firstIdAt(device.fromMs);
    let count = 0;
    for (let read = 0; read < DEVICE_EVENTS; read += CHUNK_EVENTS) {
      const { events, missed } = await db.transaction(async (tx) => {
        const where = eventConditions(projectId, {});
        const events = await eventsAfter(tx, where, { after, before, limit: CHUNK_EVENTS });
        const had = await eventsOfEndpoint(tx, device.id, { from: events[0]?.id, to: events.at(-1)?.id });
        return { events, missed: events.filter(({ id }) => !had.has(id)) };
      });
      const decoded = await this.decode(missed, routing);
      const made = await db.transaction((tx) => this.store(tx, decoded, context));
      this.made(projectId, made, LANE.first);
      count += made.deliveries.length;
      if (events.length < CHUNK_EVENTS) break;
      after = events.at(-1)?.id ?? after;
    }
    return count;
  }

  /** The endpoints of the deliveries that a replay would make, one per delivery. Nothing is stored. */
  async trial(stored: StoredEvent, context: Omit<ReplayContext, 'lane'>): Promise<EndpointId[]> {
    const decoded = await decodeStoredEvent(this.#deps, stored, context.routing);
    const matched = await this.#match(decoded, context);
    if (this.#refusal(matched) !== undefined) return [];
    const { deliveries, expansion } = matched;
    const { subscriptions } = context.routing;
    return [
      ...deliveries.map(({ endpointId }) => endpointId),
      ...(expansion ?? []).flatMap((id) => subscriptions.get(id)?.row.endpoint_id ?? []),
    ];
  }

  /** As many of the events as can be decoded within the time, one at least. */
  async decode(
    events: readonly StoredEvent[],
    routing: ProjectRouting,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<DecodedEvent[]> {
    const startedAt = performance.now();
    const decoded: DecodedEvent[] = [];
    for (const event of events) {
      if (decoded.length > 0 && performance.now() - startedAt > withinMs) break;
      decoded.push(await decodeStoredEvent(this.#deps, event, routing));
    }
    return decoded;
  }

  /**
   * Stores the replays of the first events: as many as have 1,000 deliveries together, or one large one. One with too many
   * ordered deliveries has none.
   */
  async store(tx: Queryable, decoded: readonly DecodedEvent[], context: ReplayContext): Promise<Replayed> {
    const all = noReplays();
    for (const one of decoded) {
      const matched = await this.#match(one, context);
      if (this.#refusal(matched) !== undefined) {
        all.counts.push(0);
        all.failed += 1;
        continue;
      }
      const { deliveries, expansion } = matched;
      const isFull = all.deliveries.length + deliveries.length > MAX_DIRECT || expansion !== null;
      if (isFull && all.deliveries.length > 0) return all;
      await this.#insert(tx, all, { decoded: one, matched, lane: context.lane });
      if (all.isExpanding) return all;
    }
    return all;
  }

  async #insert(
    tx: Queryable,
    all: Replayed,
    { decoded, matched, lane }: { decoded: DecodedEvent; matched: Rematched; lane: number },
  ): Promise<void> {
    const { event, deliveries, expansion, isForOthers } = matched;
    if (decoded.content !== null) await saveContent(tx, decoded.stored, decoded.content);
    const asExpansion = expansion && { id: this.#deps.ids.next(), subscriptionIds: expansion };
    const isKept = await insertReplay(tx, { event, deliveries, expansion: asExpansion, lane });
    const count = isKept ? (expansion ?? []).length + deliveries.length : 0;
    all.counts.push(count);
    if (count === 0 && !isForOthers) all.failed += 1;
    if (isKept) all.deliveries.push(...deliveries);
    all.isExpanding = isKept && expansion !== null;
  }

  #refusal({ ordered }: Rematched): AppError | undefined {
    return tooManyOrdered('replay', ordered, this.#deps.maxOrderedFanout);
  }

  async #match(
    { stored, event: source }: DecodedEvent,
    how: Omit<ReplayContext, 'lane'>,
  ): Promise<Rematched> {
    const { routing, only, ignoresOrder } = how;
    const { ids, now, maxRetrySeconds, sealer } = this.#deps;
    const context = { ids, nowMs: now(), maxRetrySeconds, routing, isReplay: true };
    const prepared = await prepareEvent(source, routing, { ...context, sealer, eventId: stored.id });
    const isWanted = (endpointId: string) => only === undefined || only.includes(endpointId);
    const event = { ...prepared.event, endpointIds: prepared.event.endpointIds.filter(isWanted) };
    const many = (prepared.expansion ?? [])
      .flatMap((id) => routing.subscriptions.get(id) ?? [])
      .filter(({ row }) => isWanted(row.endpoint_id));
    const wanted = prepared.deliveries.filter(({ endpointId }) => isWanted(endpointId));
    const ordered = wanted.filter(({ orderingId }) => orderingId !== null).length;
    const direct = ignoresOrder ? wanted.map((delivery) => ({ ...delivery, orderingId: null })) : wanted;
    const isForOthers =
      prepared.event.endpointIds.length > 0 && ![...stored.endpoints, ...event.endpointIds].some(isWanted);
    const matched = { event, ordered, isForOthers };
    if (many.length > MAX_DIRECT)
      return { ...matched, deliveries: direct, expansion: many.map(({ row }) => row.id) };
    const deliveries = [
      ...direct,
      ...many.map((subscription) => buildDelivery(event, subscription, context)),
    ];
    return { ...matched, deliveries, expansion: null };
  }

  /** They are committed: they wait in the queue. */
  made(projectId: string, { deliveries, isExpanding }: Replayed, lane: number): void {
    const { sink, counts } = this.#deps;
    const keys = new Set(deliveries.map((delivery) => delivery.key));
    for (const key of keys) sink.waiting({ projectId, key, lane });
    if (isExpanding) sink.expansionStored();
    counts.made(projectId, deliveries);
  }
}
