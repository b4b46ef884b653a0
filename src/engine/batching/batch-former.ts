import type { Batch } from '../../domain/config/batch.ts';
import { BATCH_LANE, LANE, type Place, type QueueKey } from '../../domain/delivery.ts';
import { asId } from '../../domain/ids.ts';
import { Loop } from '../../platform/loop.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import { gateOf } from '../../routing/gate.ts';
import { formBatches } from '../../store/batching/form-batches.ts';
import {
  batchesOf,
  type Collected,
  lookAtCollected,
  mostRows,
  type Seen,
} from '../../store/batching/look-at-collected.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { DueKeys } from '../queue/due-keys.ts';
import { decide, isEnough, longestWaitMs, rowsOf, type Waiting } from './waiting.ts';

/**
 * Makes batches of the deliveries that wait for them. In memory: for each subscription with such rows when to look at them.
 *   unknown -> this node has stored no row of it. A sweep of the queue finds the rows of others within 5 s;
 *   waiting -> it is looked at when its first row has waited long enough, and sooner when this node alone has stored half
 *              of what a batch may still take;
 *   looked  -> the rows are counted in the database. If they reach a limit, one statement makes a batch of them, which any
 *              node claims. Otherwise it waits again;
 *   paused  -> eight batches of it wait for a node. It is looked at after this node claims one, and after 1 s, 2 s and so on.
 * Nodes need not agree: two that make batches at the same time take different rows.
 */
export interface BatchFormerDeps extends EnginePart<'db' | 'nodeId' | 'ids' | 'now' | 'clock' | 'log'> {
  cache: Pick<ConfigCache, 'peek'>;
  /** A batch waits for a node. */
  formed(place: Place): void;
}

/** A look reads about so many rows, of each lane. Half as many after one that failed, as it may have taken too long. */
const ROWS_AT_ONCE = 5_000;
/** A subscription counts as so many at least: a look is at 200 of them at most. */
const LEAST_ROWS = 25;
const NOTHING_MADE_MS = 1_000;
const AFTER_ERROR_MS = 500;
const NOTHING_LEFT = Number.POSITIVE_INFINITY;

type Looked = Collected & { waiting: Waiting };
type Ready = Looked & { seen: Seen };

export class BatchFormer {
  readonly #deps: BatchFormerDeps;
  readonly #keys: DueKeys<Waiting>;
  readonly #loop: Loop;
  #cancelWake = () => {};
  #wakeAt = Number.POSITIVE_INFINITY;
  #rowsAtOnce = ROWS_AT_ONCE;
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(deps: BatchFormerDeps) {
    this.#deps = deps;
    this.#keys = new DueKeys(deps.clock);
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
  collects(place: Place): boolean {
    return this.#gate(place) === 'batch';
  }

  /** This node has stored a due row there. */
  stored(place: Place, bytes: number): void {
    const batch = this.#batchOf(place);
    if (batch === null) return;
    const waiting = this.#get(place, batch);
    waiting.rows += 1;
    waiting.bytes += bytes;
    if (isEnough(waiting, batch)) this.#lookNow(waiting);
    else this.#planAt(waiting.dueAt);
  }

  /** Rows wait there, of whatever node. */
  found(place: Place): void {
    const batch = this.#batchOf(place);
    if (batch === null) return;
    const waiting = this.#get(place, batch);
    waiting.isFound = true;
    if (waiting.pauseMs === 0) this.#lookNow(waiting);
  }

  /** This node has claimed batches of it, so there is room for more. */
  claimed(key: QueueKey): void {
    const waiting = this.#keys.get(LANE.first, key);
    if (waiting === undefined) return;
    waiting.isFound = true;
    if (waiting.pauseMs > 0) this.#lookNow(waiting);
  }

  #get({ projectId, key }: Place, batch: Batch): Waiting {
    const known = this.#keys.get(LANE.first, key);
    if (known !== undefined) return known;
    const dueAt = this.#deps.clock.elapsed() + longestWaitMs(batch);
    const none = { seen: null, rows: 0, bytes: 0, isFound: false, pauseMs: 0 };
    const waiting = { projectId, key, lane: LANE.first, dueAt, ...none };
    this.#keys.add(waiting);
    return waiting;
  }

  #lookNow(waiting: Waiting): void {
    const now = this.#deps.clock.elapsed();
    if (waiting.dueAt > now) this.#keys.moveTo(waiting, now);
    this.#planAt(now);
  }

  #gate({ projectId, key, lane }: Place): string | undefined {
    const routing = this.#deps.cache.peek(asId(projectId));
    if (routing?.subscriptions.has(key) !== true) return undefined;
    return gateOf(routing, { key, lane }, this.#deps.now()).kind;
  }

  #batchOf({ projectId, key }: Place): Batch | null {
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
      this.#rowsAtOnce = Math.min(ROWS_AT_ONCE, 2 * this.#rowsAtOnce);
    } catch (error) {
      this.#rowsAtOnce = Math.max(1, Math.floor(this.#rowsAtOnce / 2));
      this.#notBefore = this.#deps.clock.elapsed() + AFTER_ERROR_MS;
      throw error;
    } finally {
      this.#planAt(this.#keys.isReady(LANE.first) ? this.#deps.clock.elapsed() : this.#keys.next());
    }
  }

  /** The keys that are due, one of each project in turn, as many as one look may read. The next ones have their turn after it. */
  #chosen(): Looked[] {
    this.#keys.settle(this.#deps.clock.elapsed());
    const looked: Looked[] = [];
    let rows = 0;
    for (const waiting of this.#keys.ready(LANE.first, () => true)) {
      const batch = this.#wanted(waiting);
      if (batch === null) {
        this.#keys.delete(waiting);
        continue;
      }
      rows += Math.max(LEAST_ROWS, rowsOf(waiting, batch));
      this.#begin(waiting);
      looked.push({ key: waiting.key, batch, seen: waiting.seen, waiting });
      if (rows >= this.#rowsAtOnce) break;
    }
    return looked;
  }

  /** Behind another closed gate nothing is made: a batch that is made later is fuller. A sweep finds the rows again. */
  #wanted(waiting: Waiting): Batch | null {
    return this.collects(waiting) ? this.#batchOf(waiting) : null;
  }

  #begin(waiting: Waiting): void {
    waiting.rows = 0;
    waiting.bytes = 0;
    waiting.isFound = false;
    this.#keys.moveTo(waiting, this.#deps.clock.elapsed() + AFTER_ERROR_MS);
  }

  /** Batches are made of those that are ready, as many as one statement may read. */
  async #look(looked: readonly Looked[]): Promise<void> {
    const seen = await lookAtCollected(this.#deps.db, looked);
    const ready: Ready[] = [];
    let rows = 0;
    for (const one of looked) {
      const { waiting, batch } = one;
      const now = seen.get(one.key) as Seen;
      waiting.seen = now;
      const { isReady, nextInMs, pauseMs } = decide(now, batch, waiting.pauseMs);
      waiting.pauseMs = pauseMs;
      if (isReady && rows < this.#rowsAtOnce) {
        rows += rowsOf(waiting, batch);
        ready.push({ ...one, seen: now });
      } else this.#again(one, isReady ? 0 : nextInMs);
    }
    if (ready.length > 0) await this.#form(ready);
  }

  async #form(ready: readonly Ready[]): Promise<void> {
    const { db, nodeId, ids, formed } = this.#deps;
    const made = await formBatches(
      db,
      nodeId,
      ready.map(({ key, batch, seen }) => ({
        key,
        batch,
        batchIds: Array.from({ length: batchesOf(seen, batch) }, () => ids.next()),
        hasUnplaced: seen.hasUnplaced,
      })),
    );
    for (const one of ready) {
      const { seen, batch, waiting } = one;
      const { projectId, key } = waiting;
      const deliveries = made.get(key) ?? 0;
      if (deliveries > 0) formed({ projectId, key, lane: BATCH_LANE.formed });
      // Other nodes took its rows just now, or they wait for their turn.
      if (deliveries === 0) this.#again(one, NOTHING_MADE_MS);
      else this.#again(one, deliveries < seen.count || seen.count >= mostRows(batch) ? 0 : NOTHING_LEFT);
    }
  }

  /** Plans the next look. It comes at once if enough was stored, or rows were found, since this one began. */
  #again({ waiting, batch }: Looked, inMs: number): void {
    if (inMs === NOTHING_LEFT) {
      if (waiting.rows === 0 && !waiting.isFound) return this.#keys.delete(waiting);
      waiting.seen = null;
    }
    const isDue = waiting.isFound || isEnough(waiting, batch);
    const afterMs = inMs === NOTHING_LEFT ? longestWaitMs(batch) : inMs;
    this.#keys.moveTo(waiting, this.#deps.clock.elapsed() + (isDue ? 0 : afterMs));
  }
}
