import { isDeepStrictEqual } from 'node:util';
import type { Actor } from '../domain/audit.ts';
import { visibleHeaders } from '../domain/config/credential-headers.ts';
import { LANE } from '../domain/delivery.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import { type EndpointId, firstIdAt, type IdFactory, idTime, type ProjectId } from '../domain/ids.ts';
import type { Traffic } from '../metrics/traffic.ts';
import type { Sealer } from '../platform/sealer.ts';
import { buildDelivery } from '../routing/build-delivery.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { EventTarget, ProjectRouting } from '../routing/project-routing.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { audited } from '../store/config/audit-entries.ts';
import { chunkLimit, type JobChunk, type JobRow } from '../store/config/jobs.ts';
import type { Database, Queryable } from '../store/database/database.ts';
import { isMissingPartition } from '../store/database/pg-errors.ts';
import { openHeaders, storedHeaders } from '../store/database/stored-headers.ts';
import { eventsOfEndpoint } from '../store/history/event-deliveries.ts';
import { type EventFilter, eventConditions, eventsAfter, type StoredEvent } from '../store/history/events.ts';
import type { NewDelivery } from '../store/queue/insert-deliveries.ts';
import { insertReplay, saveContent } from '../store/queue/replay-events.ts';
import { storedTrace, withoutTrace } from '../tracing/trace-context.ts';
import { readAgain, UNREADABLE } from './broker-message.ts';
import type { NewEvent } from './new-event.ts';
import { carriedHeaders, prepareEvent, storedTarget } from './prepare-event.ts';
import { applySourceFunctions } from './source-functions.ts';

/**
 * Replays stored events. Each is matched again with the current config and its original target, and gets new
 * deliveries. An event that failed in a function of its source passes through it again. The batch form reads
 * events in id order up to its job's id. Transactions with recent ids may be uncommitted, so ids from the
 * five seconds before the job's id are read only when the job is five seconds old. None is skipped then. A
 * filter that ends before them need not wait.
 */
export interface EventReplayerDeps {
  db: Database;
  cache: ConfigCache;
  ids: IdFactory;
  now(): number;
  sink: DeliverySink;
  makePartitions(): Promise<void>;
  maxRetrySeconds: number;
  sandbox: Sandbox;
  sealer: Sealer;
  traffic: Pick<Traffic, 'made'>;
}

const CHUNK_EVENTS = 100;
const SETTLE_MS = 5_000;
/** So many stored events are matched again for a device. */
const DEVICE_EVENTS = 1_000;

/** The input of a batch replay: a filter of events, and the endpoints that may get them, if not all. */
export interface BatchReplay extends EventFilter {
  only?: readonly string[];
}

export class EventReplayer {
  readonly #deps: EventReplayerDeps;

  constructor(deps: EventReplayerDeps) {
    this.#deps = deps;
  }

  /**
   * The number of new deliveries. If endpoints are given, only those get one: a portal replays for its owner
   * alone.
   */
  async replay(
    event: StoredEvent,
    { actor, only }: { actor: Actor; only: readonly string[] | undefined },
  ): Promise<number> {
    const { cache } = this.#deps;
    const routing = await cache.refresh(event.project_id);
    const by = { projectId: event.project_id, actor };
    const run = () =>
      audited(this.#deps, by, async (tx) => {
        const result = await this.#replay(tx, event, { routing, lane: LANE.first, only });
        const after = { deliveries: result.length };
        return { result, audit: [{ action: 'event.replayed', resourceId: event.id, before: null, after }] };
      });
    const replayed = await run().catch(async (error: unknown) => {
      if (!isMissingPartition(error)) throw error;
      await this.#deps.makePartitions();
      return run();
    });
    this.#made(event.project_id, replayed, LANE.first);
    return replayed.length;
  }

  /** One chunk of a batch replay. Events that no longer match anything count as failed. */
  chunk = async (tx: Queryable, job: JobRow): Promise<JobChunk> => {
    const ageMs = this.#deps.now() - idTime(job.id);
    const { only, ...filter } = JSON.parse(job.input) as BatchReplay;
    const endsBefore = filter.toMs !== undefined && filter.toMs < idTime(job.id) - SETTLE_MS;
    const settled = endsBefore || ageMs >= SETTLE_MS;
    const limit = chunkLimit(job, CHUNK_EVENTS);
    const events = await eventsAfter(tx, eventConditions(job.project_id, filter), {
      after: job.cursor,
      before: settled ? job.id : firstIdAt(idTime(job.id) - SETTLE_MS),
      limit,
    });
    const routing = await this.#deps.cache.refresh(job.project_id);
    const made: NewDelivery[] = [];
    let failed = 0;
    for (const event of events) {
      const replayed = await this.#replay(tx, event, { routing, lane: LANE.replay, only });
      if (replayed.length === 0) failed += 1;
      made.push(...replayed);
    }
    const isLast = events.length < limit;
    return {
      cursor: isLast && settled ? null : (events.at(-1)?.id ?? job.cursor),
      done: events.length - failed,
      failed,
      ...(isLast && !settled && { delayMs: SETTLE_MS - ageMs }),
      committed: () => this.#made(job.project_id, made, LANE.replay),
    };
  };

  /**
   * Matches stored events again for one device, oldest first, in chunks. Events that it has a delivery of already are left
   * out. Returns the number of new deliveries.
   */
  async forDevice(projectId: ProjectId, device: { id: EndpointId; fromMs: number }): Promise<number> {
    const { db, cache, now } = this.#deps;
    const routing = await cache.refresh(projectId);
    const before = firstIdAt(now() + 1);
    let after = firstIdAt(device.fromMs);
    let count = 0;
    for (let read = 0; read < DEVICE_EVENTS; read += CHUNK_EVENTS) {
      const chunk = await db.transaction(async (tx) => {
        const where = eventConditions(projectId, {});
        const events = await eventsAfter(tx, where, { after, before, limit: CHUNK_EVENTS });
        const had = await eventsOfEndpoint(tx, device.id, { from: events[0]?.id, to: events.at(-1)?.id });
        const made: NewDelivery[] = [];
        for (const event of events.filter(({ id }) => !had.has(id)))
          made.push(...(await this.#replay(tx, event, { routing, lane: LANE.first, only: [device.id] })));
        return { events, made };
      });
      this.#made(projectId, chunk.made, LANE.first);
      count += chunk.made.length;
      if (chunk.events.length < CHUNK_EVENTS) break;
      after = chunk.events.at(-1)?.id ?? after;
    }
    return count;
  }

  async #replay(
    tx: Queryable,
    stored: StoredEvent,
    context: { routing: ProjectRouting; lane: number; only: readonly string[] | undefined },
  ): Promise<readonly NewDelivery[]> {
    const { ids, now, maxRetrySeconds, sealer } = this.#deps;
    const { routing, only } = context;
    const prepared = prepareEvent(await this.#decode(tx, stored, routing), routing, {
      ids,
      nowMs: now(),
      maxRetrySeconds,
      sealer,
      eventId: stored.id,
    });
    const isWanted = (endpointId: string) => only === undefined || only.includes(endpointId);
    const event = { ...prepared.event, endpointIds: prepared.event.endpointIds.filter(isWanted) };
    const deliveries = [
      ...prepared.deliveries,
      ...(prepared.expansion ?? [])
        .flatMap((id) => routing.subscriptions.get(id) ?? [])
        .map((subscription) => buildDelivery(event, subscription, { routing, ids, maxRetrySeconds })),
    ].filter((delivery) => isWanted(delivery.endpointId));
    if (!(await insertReplay(tx, { event, deliveries, lane: context.lane }))) return [];
    return deliveries;
  }

  /** The stored event; if its source could not read it, as the source reads it now. */
  async #decode(tx: Queryable, stored: StoredEvent, routing: ProjectRouting): Promise<NewEvent> {
    const event = asNewEvent(this.#deps.sealer, stored);
    if (!stored.source_function_failed) return event;
    const failed = { ...event, functionFailure: stored.failure_reason };
    const source = routing.sources.get(stored.source_id ?? '');
    if (source === undefined) return failed;
    const { sandbox, ids, now, cache } = this.#deps;
    const context = { seed: ids.next(), nowMs: now() };
    const refresh = () => cache.refresh(stored.project_id);
    const made =
      stored.event_type === UNREADABLE
        ? await readAgain({ sandbox, source, routing, refresh, ...context }, event)
        : await applySourceFunctions(sandbox, source, { event, ...context });
    if (made === null) return failed;
    if (made.functionFailure === null)
      await saveContent(tx, stored, {
        ...made,
        target: storedTarget(made.target),
        ...this.#storedHeaders(stored.id, made, routing),
      });
    return made;
  }

  #storedHeaders(id: string, event: NewEvent, { project }: ProjectRouting) {
    const { headers, credentials } = event;
    const visible = visibleHeaders(project.config);
    const stored = (given: NewEvent['headers']) =>
      storedHeaders(this.#deps.sealer, given, { id, credentials, visible }) ?? '{}';
    const carried = carriedHeaders(event);
    return { headers: stored(headers), forwardedHeaders: carried === null ? null : stored(carried) };
  }

  /** They are committed: they wait in the queue. */
  #made(projectId: string, deliveries: readonly NewDelivery[], lane: number): void {
    const keys = new Set(deliveries.map((delivery) => delivery.key));
    for (const key of keys) this.#deps.sink.waiting(projectId, { key, lane });
    this.#deps.traffic.made(projectId, deliveries);
  }
}

function asNewEvent(sealer: Sealer, stored: StoredEvent): NewEvent {
  const own = openHeaders(sealer, stored.headers, stored.id);
  const forwarded =
    stored.forwarded_headers === null ? null : openHeaders(sealer, stored.forwarded_headers, stored.id);
  return {
    projectId: stored.project_id,
    target: stored.target === null ? { kind: 'broadcast' } : (JSON.parse(stored.target) as EventTarget),
    eventType: stored.event_type,
    payload: stored.payload,
    contentType: stored.content_type,
    headers: own.headers,
    forwardedHeaders: ownForwardedHeaders(own.headers, forwarded?.headers ?? null),
    credentials: [...own.credentials, ...(forwarded?.credentials ?? [])],
    trace: storedTrace(stored.forwarded_headers),
    functionFailure: null,
    idempotencyKey: stored.idempotency_key,
    sourceId: stored.source_id,
    appId: stored.app_id,
    acknowledgedAtMs: stored.acknowledged_at,
    urlQueryParams: stored.url_query_params,
    urlPath: stored.url_path,
    metadata: stored.metadata,
  };
}

/** An event that carries all its headers has a list of its own only if a trace was added to them. */
function ownForwardedHeaders(
  headers: Record<string, string[]>,
  stored: Record<string, string[]> | null,
): NewEvent['forwardedHeaders'] {
  if (stored === null) return null;
  const own = withoutTrace(stored);
  return isDeepStrictEqual(own, withoutTrace(headers)) ? null : own;
}
