import { asId, type ProjectId } from '../domain/ids.ts';
import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import type { Database } from '../store/database/database.ts';
import {
  CONFIG_CHANNEL,
  HELD_IDS,
  JOBS_CHANNEL,
  PEOPLE_CHANNEL,
  SEEN_CONFIG,
} from '../store/database/notify-nodes.ts';
import { DUE_CHANNEL } from '../store/limits/rate-leases.ts';
import { type Look, look } from '../store/upkeep/look.ts';
import type { ConfigCache } from './config-cache.ts';

/**
 * Keeps the config cache fresh. `LISTEN` makes a change known at once, and a poll each second guarantees it
 * (a transaction pooler passes no notifications). On the same connection nodes notify each other of waiting
 * deliveries, which a sweep of the queue finds too, and of jobs, which the poll finds too. If `LISTEN` drops, the poll
 * still finds every change, and the next poll reconnects.
 */
const POLL_MS = 1_000;

export interface ConfigWatchDeps {
  db: Database;
  cache: ConfigCache;
  log: Logger;
  /** A project changed: its config, or the access to it. Or the rights or sessions of a person. */
  onNotice(id: string): void;
  /** A notification of waiting deliveries arrived. */
  onDue(payload: string): void;
  /** A job waits, or needs to know which ids this node holds. */
  onJobs(payload: string): void;
  /** The poll has these findings. */
  onLook(found: Look): void;
}

export class ConfigWatch {
  readonly #deps: ConfigWatchDeps;
  readonly #loop: Loop;
  #listener: { end(): Promise<void> } | undefined;
  /** A mover waits for the next look of this node. */
  #isAsked = false;

  constructor(deps: ConfigWatchDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#poll(),
      onError: (error) => deps.log.debug({ err: error }, 'config poll failed'),
      everyMs: POLL_MS,
    });
  }

  async start(): Promise<void> {
    await this.#listen();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#listener
      ?.end()
      .catch((error: Error) => this.#deps.log.debug({ err: error }, 'the listener was already closed'));
  }

  async #poll(): Promise<void> {
    const { db, cache, onLook } = this.#deps;
    const known = cache.versions();
    const found = await look(db, known);
    onLook(found);
    // The next look does not wait for thousands of projects.
    void this.#follow(found, known);
    if (this.#listener === undefined) await this.#listen();
  }

  /** Reads the changes of a look. Once none of them is left, this node has seen the config of that time. */
  async #follow({ changed, atMs }: Look, before: ReadonlyMap<ProjectId, number>): Promise<void> {
    const { cache } = this.#deps;
    // The look did not compare a project that was read for the first time meanwhile: it may have its old state.
    const uncompared = cache.newSince(before);
    const followed = await Promise.all([...changed, ...uncompared].map((id) => cache.refreshQuietly(id)));
    if (followed.includes(false)) return;
    const after = changed.length === 0 ? before : cache.versions();
    if (changed.some((id) => after.has(id) && after.get(id) === before.get(id))) return;
    cache.seenAtMs = Math.max(cache.seenAtMs ?? 0, atMs);
    if (!this.#isAsked) return;
    this.#isAsked = false;
    this.#deps.onJobs(HELD_IDS);
  }

  async #listen(): Promise<void> {
    const client = await this.#deps.db.dedicated();
    const lost = (error?: Error) => {
      if (error !== undefined) this.#deps.log.debug({ err: error }, 'lost the config listener');
      if (this.#listener === client) this.#listener = undefined;
    };
    client.on('error', lost);
    client.on('end', () => lost());
    client.on('notification', ({ channel, payload }) => {
      if (payload === undefined) return;
      if (channel === DUE_CHANNEL) return this.#deps.onDue(payload);
      if (channel === JOBS_CHANNEL && payload === SEEN_CONFIG) {
        this.#isAsked = true;
        return this.#loop.wake();
      }
      if (channel === JOBS_CHANNEL) return this.#deps.onJobs(payload);
      this.#deps.onNotice(payload);
      if (channel === PEOPLE_CHANNEL) return;
      void this.#deps.cache.refreshQuietly(asId(payload));
    });
    try {
      await client.query(
        [CONFIG_CHANNEL, DUE_CHANNEL, PEOPLE_CHANNEL, JOBS_CHANNEL]
          .map((name) => `listen ${name}`)
          .join('; '),
      );
    } catch (error) {
      await client.end().catch(lost);
      throw error;
    }
    this.#listener = client;
  }
}
