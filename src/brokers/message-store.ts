import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfigChanges } from '../control/config-changes.ts';
import { ensureSubscription } from '../control/subscription-changes.ts';
import { INSTANCE } from '../domain/audit.ts';
import { AppError } from '../domain/errors.ts';
import { asId, type IdFactory, type ProjectId, type SourceId } from '../domain/ids.ts';
import type { EventAcceptor } from '../ingest/accept-event.ts';
import { readBrokerMessage, UNREADABLE, unreadableMessage } from '../ingest/broker-message.ts';
import type { LotMessage } from '../ingest/lot.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { JsonBounds } from '../platform/json/json-shape.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { Room } from '../platform/shared-room.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import {
  type BrokerKind,
  type LotPart,
  type ReceivedMessage,
  StoreAborted,
  type StoredMessages,
} from './module/broker-module.ts';

/**
 * Reads received messages and stores them, whatever it takes. The outcomes of a message:
 *   stored     -> as an event, or, if it can never be one, as an event that failed, with the reason; or it was before;
 *   not stored -> for a reason of ours, or a passing one: the database is away, a limit is used up, functions cannot run.
 *                 The rest of the lot is kept and tried again, after longer and longer waits, until the source is stopped.
 */
export interface MessageStoreDeps {
  changes: ConfigChanges;
  acceptor: EventAcceptor;
  cache: ConfigCache;
  sandbox: Sandbox;
  sealer: Sealer;
  ids: IdFactory;
  now(): number;
  /** That of the instance. */
  retentionMs: number;
  jsonBounds: JsonBounds;
  metrics: Metrics;
  /** Bounds the bytes of messages on their way into the database. */
  room: Room;
}

export interface StoreJob {
  source: { id: SourceId; projectId: ProjectId; kind: BrokerKind };
  part: Omit<LotPart, 'signal'>;
  messages: readonly ReceivedMessage[];
  signal: AbortSignal;
  /** It has to wait, because of this. */
  waiting(error: unknown): void;
}

/** Functions of one lot that run at the same time. */
const READ_AT_ONCE = 16;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
const LIMIT_LOOK_MS = 500;

export class MessageStore {
  readonly #deps: MessageStoreDeps;

  constructor(deps: MessageStoreDeps) {
    this.#deps = deps;
  }

  /** Rejects only after the signal aborted. */
  async store(job: StoreJob): Promise<StoredMessages> {
    const unreadable = new Set<number>();
    let read: LotMessage[] | undefined;
    let count = 0;
    for (let failures = 0; count < job.messages.length; ) {
      if (job.signal.aborted) throw new StoreAborted(count, { unreadable });
      const limits = this.#limitsOf(job.source);
      try {
        await this.#inRoom(job, async () => {
          read ??= await this.#read(job, unreadable);
          const done = await this.#storeRead(job, read.slice(count));
          if (done > 0) failures = 0;
          count += done;
        });
      } catch (error) {
        failures += 1;
        job.waiting(error);
        if (isFullLimit(error)) await this.#awaitRoom(error, limits, job);
        else await pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)), job.signal);
      }
    }
    return { unreadable };
  }

  /** A lot that waits for its next try leaves the room: a source in trouble does not hold up the others. */
  async #inRoom(job: StoreJob, work: () => Promise<void>): Promise<void> {
    const { room } = this.#deps;
    const bytes = job.messages.reduce((sum, { body }) => sum + body.length, 0);
    if (!(await room.enter({ id: job, sharer: job.source.projectId }, bytes, job.signal))) return;
    try {
      await work();
    } finally {
      room.leave(job);
    }
  }

  /** How many are stored; throws where it is none. */
  async #storeRead({ source, part }: StoreJob, messages: readonly LotMessage[]): Promise<number> {
    const { acceptor, metrics } = this.#deps;
    const { projectId, id: sourceId, kind } = source;
    const { done, stored, repeats, error } = await acceptor.acceptLot({
      projectId,
      sourceId,
      ...part,
      messages,
    });
    const counts = metrics.brokerMessages[kind];
    counts.stored.inc(stored);
    counts.repeat.inc(repeats);
    if (stored > 0)
      counts.unreadable.inc(
        messages.slice(0, done).filter(({ event }) => event.eventType === UNREADABLE).length,
      );
    if (done === 0 && error !== null) throw error;
    return done;
  }

  async #read({ source, messages }: StoreJob, unreadable: Set<number>): Promise<LotMessage[]> {
    const read: LotMessage[] = [];
    for (let from = 0; from < messages.length; from += READ_AT_ONCE) {
      const some = messages.slice(from, from + READ_AT_ONCE);
      read.push(...(await Promise.all(some.map((message) => this.#readOne(source, message)))));
    }
    await this.#subscribeTargets(source, read);
    return read.map((message, number) => {
      if (message.event.eventType === UNREADABLE) unreadable.add(number);
      const refused = (reason: string) => {
        unreadable.add(number);
        return message.refused(reason);
      };
      return { ...message, refused };
    });
  }

  /** As with the API, an endpoint without a subscription that is sent an event gets one. */
  async #subscribeTargets({ projectId }: StoreJob['source'], messages: readonly LotMessage[]): Promise<void> {
    const targets = messages.flatMap(({ event: { target } }) =>
      target.kind === 'endpoints' ? target.endpointIds : [],
    );
    const { cache, changes } = this.#deps;
    for (const id of new Set(targets))
      if (cache.peek(projectId)?.hasSubscription(id) !== true)
        await ensureSubscription(changes, { projectId, actor: INSTANCE }, asId(id));
  }

  async #readOne(
    { id, projectId }: StoreJob['source'],
    { key, ...message }: ReceivedMessage,
  ): Promise<LotMessage> {
    const { cache, sandbox, sealer, ids, now, retentionMs, jsonBounds } = this.#deps;
    const routing = cache.peek(projectId) ?? (await cache.get(projectId));
    const source = routing.sources.get(id);
    if (source === undefined) throw new AppError('not_found', { resource: 'source', id });
    const refresh = () => cache.refresh(projectId);
    const about = { source, routing, refresh };
    const reader = { ...about, sandbox, sealer, seed: ids.next(), nowMs: now(), retentionMs, jsonBounds };
    return {
      key,
      event: await readBrokerMessage(reader, message),
      refused: (reason) => unreadableMessage(source, message, reason),
    };
  }

  /** A limit says when it has room again. One that is changed meanwhile may have room at once. */
  async #awaitRoom({ retryAfterSeconds = 1 }: AppError, limits: string, job: StoreJob): Promise<void> {
    const until = performance.now() + Math.min(LONGEST_PAUSE_MS, retryAfterSeconds * 1000);
    const leftMs = () => until - performance.now();
    while (leftMs() > 0 && !job.signal.aborted && this.#limitsOf(job.source) === limits)
      await pause(Math.min(LIMIT_LOOK_MS, leftMs()), job.signal);
  }

  #limitsOf({ id, projectId }: StoreJob['source']): string {
    const routing = this.#deps.cache.peek(projectId);
    const source = routing?.sources.get(id);
    return JSON.stringify([
      source?.rate_limit,
      source?.rate_limit_duration,
      routing?.project.config.ratelimit,
    ]);
  }
}

const isFullLimit = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'rate_limited';

/** An abort ends it. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
