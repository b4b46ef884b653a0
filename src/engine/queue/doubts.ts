import type { Place } from '../../domain/delivery.ts';
import type { QueueRowKey } from '../../domain/delivery-sink.ts';
import { leasedInPages } from '../../store/queue/nodes.ts';
import { releaseRows } from '../../store/queue/release-rows.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/**
 * Rows that this node may lease in the database without knowing it. States of each:
 *   in doubt -> its key is known: an outcome came late or was not recorded, there was no place, or the answer to its
 *               insert was lost. It is released by its primary key, at once and then every 5 s, until no statement from
 *               then can still run.
 *   lost     -> the answer to a claim was lost, so its rows can be anywhere in the queue. The queue is walked, one range
 *               of pages per round, so that claims go on meanwhile. Walks begin at once and then every 5 s, for as long.
 * A row that the dispatcher has is left alone.
 *
 * There is no index on the holder of a row, because accepting and claiming would have to maintain it. The reads here
 * therefore never ask for all rows of a node: with 2 million waiting rows that read 58,824 pages (0.5 s) per late outcome.
 */
export interface DoubtsDeps extends EnginePart<'db' | 'nodeId' | 'clock'> {
  dispatcher: { has(deliveryId: string): boolean };
}

const AGAIN_MS = 5_000;
/** No statement of the hot path lives longer on the server, and no answer is awaited longer here. */
const UNSURE_MS = 12_000;
const ROWS_PER_STATEMENT = 1_000;

interface Doubt extends QueueRowKey {
  askAt: number;
  until: number;
}

export class Doubts {
  readonly #deps: DoubtsDeps;
  readonly #rows = new Map<string, Doubt>();
  #askAt = Number.POSITIVE_INFINITY;
  /** Null: no claim is lost. */
  #lost: { walkAt: number; until: number } | null = null;
  #walk: { page: number; startedAt: number } | null = null;

  constructor(deps: DoubtsDeps) {
    this.#deps = deps;
  }

  add(rows: readonly QueueRowKey[]): void {
    const now = this.#deps.clock.elapsed();
    for (const { projectId, id } of rows)
      this.#rows.set(id, { projectId, id, askAt: now, until: now + UNSURE_MS });
    if (rows.length > 0) this.#askAt = now;
  }

  claimLost(): void {
    const now = this.#deps.clock.elapsed();
    this.#lost = { walkAt: now, until: now + UNSURE_MS };
  }

  /** False: every row that this node leases is known, or its key is. */
  get isClaimLost(): boolean {
    return this.#lost !== null;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0 && this.#lost === null;
  }

  isDue(): boolean {
    const now = this.#deps.clock.elapsed();
    return (
      now >= this.#askAt || this.#walk !== null || now >= (this.#lost?.walkAt ?? Number.POSITIVE_INFINITY)
    );
  }

  /** Releases rows in doubt that are due, and those on the next pages of a walk. Returns where they wait. */
  async release(): Promise<Place[]> {
    const now = this.#deps.clock.elapsed();
    const rows = [...this.#due(now), ...(await this.#walked(now))];
    return this.#releaseUnknown(rows);
  }

  /** Releases all rows in doubt, at the end of this node. */
  async releaseAll(): Promise<void> {
    await this.#releaseUnknown([...this.#rows.values()]);
  }

  #due(now: number): Doubt[] {
    if (now < this.#askAt) return [];
    const due = [...this.#rows.values()].filter(({ askAt }) => askAt <= now);
    for (const doubt of due) {
      doubt.askAt = now + AGAIN_MS;
      if (now >= doubt.until) this.#rows.delete(doubt.id);
    }
    this.#askAt = Number.POSITIVE_INFINITY;
    for (const { askAt } of this.#rows.values()) this.#askAt = Math.min(this.#askAt, askAt);
    return due;
  }

  async #walked(now: number): Promise<QueueRowKey[]> {
    const { db, nodeId } = this.#deps;
    if (this.#walk === null) {
      if (this.#lost === null || now < this.#lost.walkAt) return [];
      this.#walk = { page: 0, startedAt: now };
      this.#lost.walkAt = now + AGAIN_MS;
    }
    const { startedAt } = this.#walk;
    const { rows, nextPage } = await leasedInPages(db, nodeId, this.#walk.page);
    this.#walk = nextPage === 0 ? null : { page: nextPage, startedAt };
    if (nextPage === 0 && this.#lost !== null && startedAt >= this.#lost.until) this.#lost = null;
    return rows;
  }

  async #releaseUnknown(rows: readonly QueueRowKey[]): Promise<Place[]> {
    const { db, nodeId, dispatcher } = this.#deps;
    const released: Place[] = [];
    const unknown = rows.filter(({ id }) => !dispatcher.has(id));
    for (let from = 0; from < unknown.length; from += ROWS_PER_STATEMENT) {
      const some = unknown.slice(from, from + ROWS_PER_STATEMENT);
      released.push(...(await releaseRows(db, nodeId, some)));
    }
    return released;
  }
}
