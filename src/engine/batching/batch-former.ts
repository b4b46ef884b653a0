import type { Batch } from '../../domain/config/batch.ts';
import type { QueueKey } from '../../domain/delivery.ts';
import { LANE } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { asId } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import { gateOf } from '../../routing/gate.ts';
import {
  type Collected,
  formBatches,
  lookAtCollected,
  MOST_WAITING,
  type Seen,
} from '../../store/batching/form-batches.ts';
import type { Database } from '../../store/database/database.ts';
import { type Waiting, WaitingKeys } from './waiting-keys.ts';

/**
 * Makes batches of the deliveries that wait for them. In memory: for each subscription with such rows when to look at them.
 *   unknown -> this node has stored no row of it. A sweep of the queue finds the rows of others within 5 s;
 *   waiting -> it is looked at when its first row has waited long enough, and sooner when this node alone has stored half
 *              of what a batch may still take;
 *   looked  -> the rows are counted in the database. If they reach a limit, one statement makes a batch of them, which any
 *              node claims. Otherwise it waits again.
 * Nodes need not agree: two that make batches at the same time take different rows.
 */
export interface BatchFormerDeps {
  db: Database;
  cache: Pick<ConfigCache, 'peek'>;
  ids: IdFactory;
  /** A batch waits for a node. */
  formed(projectId: string, key: QueueKey): void;
  /** The database's time in milliseconds. */
  now(): number;
  clock: Clock;
  log: Logger;
}

const KEYS_AT_ONCE = 200;
/** A look reads about so many rows, of each lane. Half as many after one that failed, as it may have taken too long. */
const ROWS_AT_ONCE = 5_000;
const BACKLOG_MS = 1_000;
const NOTHING_MADE_MS = 1_000;
const AFTER_ERROR_MS = 500;
/** Timers fire up to a millisecond early. */
const LATE_MS = 2;

type Looked = Collected & { waiting: Waiting; batch: Batch };

export class BatchFormer {
  readonly #deps: BatchFormerDeps;
  readonly #waiting = new WaitingKeys();
  readonly #loop: Loop;
  #cancelWake = () => {};
  #wakeAt = Number.POSITIVE_INFINITY;
  #rowsAtOnce = ROWS_AT_ONCE;
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(deps: BatchFormerDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#turn(),
      onError: (error) => deps.log.warn({ err: error }, 'failed to make batches; retrying'),
      clock: deps.clock,
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#cancelWake();
    await this.#loop.stop();
  }

  /** Whether rows of this key wait for their batch. */
  collects(projectId: string, { key, lane }: { key: QueueKey; lane: number }): boolean {
    return this.#gate(projectId, key, lane) === 'batch';
  }

  /** This node has stored a due row there. */
  stored(projectId: string, key: QueueKey, bytes: number): void {
    const batch = this.#batchOf(projectId, key);
    if (batch === null) return;
    const now = this.#deps.clock.elapsed();
    const waiting = this.#waiting.get(projectId, key) ?? this.#add(projectId, key, batch);
    waiting.rows += 1;
    waiting.bytes += bytes;
    if (waiting.rows >= waiting.enoughRows || waiting.bytes >= waiting.enoughBytes) waiting.lookAt = now;
    this.#planAt(waiting.lookAt);
  }

  /** Rows wait there, of whatever node. */
  found(projectId: string, key: QueueKey): void {
    const batch = this.#batchOf(projectId, key);
    if (batch === null) return;
    const waiting = this.#waiting.get(projectId, key) ?? this.#add(projectId, key, batch);
    waiting.isFound = true;
    waiting.lookAt = this.#deps.clock.elapsed();
    this.#planAt(waiting.lookAt);
  }

  #add(projectId: string, key: QueueKey, batch: Batch): Waiting {
    const lookAt = this.#deps.clock.elapsed() + batch.max_wait_seconds * 1000 + LATE_MS;
    const waiting = {
      projectId,
      key,
      lookAt,
      isFound: false,
      rows: 0,
      bytes: 0,
      enoughRows: 0,
      enoughBytes: 0,
    };
    enough(waiting, batch, { count: 0, bytes: 0 });
    this.#waiting.set(waiting);
    return waiting;
  }

  #gate(projectId: string, key: string, lane: number): string | undefined {
    const routing = this.#deps.cache.peek(asId(projectId));
    if (routing?.subscriptions.has(key) !== true) return undefined;
    return gateOf(routing, { key, lane }, this.#deps.now()).kind;
  }

  #batchOf(projectId: string, key: string): Batch | null {
    const routing = this.#deps.cache.peek(asId(projectId));
    const subscription = routing?.subscriptions.get(key);
    return subscription === undefined ? null : (routing?.batchOf(subscription) ?? null);
  }

  #planAt(wanted: number): void {
    const at = Math.max(wanted, this.#notBefore);
    if (at >= this.#wakeAt || this.#loop.isStopped) return;
    this.#cancelWake();
    this.#wakeAt = at;
    const inMs = Math.max(0, at - this.#deps.clock.elapsed());
    this.#cancelWake = this.#deps.clock.after(inMs, () => this.#loop.wake());
  }

  async #turn(): Promise<void> {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    try {
      const looked = this.#chosen();
      if (looked.length > 0) await this.#look(looked);
      // The look may have missed what was found meanwhile.
      for (const { waiting } of looked) if (waiting.isFound) this.#again(waiting, 0);
      this.#rowsAtOnce = Math.min(ROWS_AT_ONCE, 2 * this.#rowsAtOnce);
    } catch (error) {
      this.#rowsAtOnce = Math.max(1, Math.floor(this.#rowsAtOnce / 2));
      this.#notBefore = this.#deps.clock.elapsed() + AFTER_ERROR_MS;
      throw error;
    } finally {
      this.#planAt(this.#waiting.nextAt());
    }
  }

  /** Those that are due, as many as one look may read. The next ones have their turn after it. */
  #chosen(): Looked[] {
    const looked: Looked[] = [];
    let rows = 0;
    for (const waiting of this.#waiting.due(this.#deps.clock.elapsed())) {
      const one = this.#wanted(waiting);
      if (one === null) continue;
      rows += one.max;
      if (looked.length > 0 && (looked.length === KEYS_AT_ONCE || rows > this.#rowsAtOnce)) break;
      this.#begin(waiting);
      looked.push(one);
    }
    return looked;
  }

  #begin(waiting: Waiting): void {
    waiting.rows = 0;
    waiting.bytes = 0;
    waiting.isFound = false;
    waiting.lookAt = this.#deps.clock.elapsed() + AFTER_ERROR_MS;
    this.#waiting.toTheBack(waiting);
  }

  /** Behind another closed gate nothing is made: a batch that is made later is fuller. A sweep finds the rows again. */
  #wanted(waiting: Waiting): Looked | null {
    const { projectId, key } = waiting;
    const batch = this.#batchOf(projectId, key);
    if (batch === null || this.#gate(projectId, key, LANE.first) !== 'batch') {
      this.#waiting.delete(waiting);
      return null;
    }
    return { key, max: batch.max, maxBytes: batch.max_bytes, waiting, batch };
  }

  async #look(looked: readonly Looked[]): Promise<void> {
    const { db, ids, formed } = this.#deps;
    const seen = await lookAtCollected(db, looked);
    const ready = looked.filter((one) => this.#isReady(one, seen.get(one.key)));
    if (ready.length === 0) return;
    const made = await formBatches(
      db,
      ready.map((one) => ({
        ...one,
        batchId: ids.next(),
        hasUnplaced: seen.get(one.key)?.hasUnplaced === true,
      })),
    );
    for (const { key, waiting } of ready) {
      if (made.has(key)) formed(waiting.projectId, waiting.key);
      // Other nodes took its rows just now, or they wait for their turn.
      else this.#again(waiting, NOTHING_MADE_MS);
    }
  }

  #again(waiting: Waiting, inMs: number): void {
    const known = this.#waiting.get(waiting.projectId, waiting.key);
    if (known === undefined) this.#waiting.set(waiting);
    (known ?? waiting).lookAt = this.#deps.clock.elapsed() + inMs;
  }

  /** Whether a batch is made of what is there. Also says when to look again. */
  #isReady({ waiting, batch }: Looked, seen: Seen | undefined): boolean {
    const now = this.#deps.clock.elapsed();
    const { count = 0, bytes = 0, oldestMs = 0, backlog = 0 } = seen ?? {};
    // The rows were not counted.
    if (backlog >= MOST_WAITING) {
      waiting.lookAt = now + BACKLOG_MS;
      return false;
    }
    if (count === 0) {
      this.#later(waiting, batch);
      return false;
    }
    const isFull = count >= batch.max || bytes >= batch.max_bytes;
    const waitMs = batch.max_wait_seconds * 1000 - oldestMs;
    if (isFull) waiting.lookAt = now;
    else if (waitMs <= 0) this.#later(waiting, batch);
    else {
      waiting.lookAt = now + waitMs + LATE_MS;
      enough(waiting, batch, { count, bytes });
    }
    return isFull || waitMs <= 0;
  }

  /** Nothing is left but what this node has stored since it began to look. */
  #later(waiting: Waiting, batch: Batch): void {
    if (waiting.rows === 0) this.#waiting.delete(waiting);
    waiting.lookAt = this.#deps.clock.elapsed() + batch.max_wait_seconds * 1000 + LATE_MS;
    enough(waiting, batch, { count: 0, bytes: 0 });
  }
}

/** Half of what is missing: other nodes store rows too. The last row of a full batch is always enough. */
function enough(
  waiting: Waiting,
  { max, max_bytes }: Batch,
  { count, bytes }: { count: number; bytes: number },
): void {
  waiting.enoughRows = Math.max(1, Math.ceil((max - count) / 2));
  waiting.enoughBytes = Math.max(1, Math.ceil((max_bytes - bytes) / 2));
}
