import { Tasks } from '../../platform/tasks.ts';
import type { Connector, Target, TlsOffer } from './connector.ts';
import type { Exchange } from './exchange.ts';
import { ExchangeFailure } from './outcome.ts';
import { Slot, type SlotOwner } from './slot.ts';

/**
 * Connections, kept alive and bounded per origin and overall. undici's own Pool is not used: it does not
 * report which connection serves a request, cannot cancel a waiting one and has no overall bound.
 *
 * Invariants:
 * - `slotCount` is the number of slots of all pools and never exceeds `maxConnections`.
 * - A slot in `idle` has no exchange and an open connection.
 * - Exchanges wait only while their origin has all its slots, or the overall bound is reached and no slot is
 *   idle.
 * - A pool without slots and waiting exchanges is removed.
 * - An origin that waits without any slot gets the next slot that becomes free anywhere, so none starves.
 */

/** Name, TCP, TLS and HTTP/2 settings take some four round trips. Across an ocean that is over half a second. */
const HOLD_MS = 1_000;

export interface PoolLimits {
  readonly connectionsPerOrigin: number;
  readonly maxConnections: number;
}

export class ConnectionPools {
  readonly connector: Connector;
  readonly limits: PoolLimits;
  readonly idle = new Set<Slot>();
  readonly #pools = new Map<string, OriginPool>();
  readonly #starving = new Set<OriginPool>();
  /** Connections that are being closed. */
  readonly closing = new Tasks();
  slotCount = 0;

  constructor(connector: Connector, limits: PoolLimits) {
    this.connector = connector;
    this.limits = limits;
  }

  /** `tls` is called when the origin has no pool yet. */
  run(key: string, exchange: Exchange, tls: () => TlsOffer | null): void {
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = new OriginPool(this, key, exchange.job.target, tls());
      this.#pools.set(key, pool);
    }
    pool.run(exchange);
  }

  /** Ensures room for one more slot, if necessary by closing the longest idle connection. */
  makeRoom(pool: OriginPool): boolean {
    if (this.slotCount < this.limits.maxConnections) return true;
    const oldest = this.idle.values().next().value;
    if (oldest !== undefined) {
      oldest.discard();
      return true;
    }
    if (pool.slots.size === 0) this.#starving.add(pool);
    return false;
  }

  takeStarving(): OriginPool | null {
    for (const pool of this.#starving) {
      this.#starving.delete(pool);
      if (pool.hasWaiting) return pool;
    }
    return null;
  }

  forget(key: string): void {
    this.#pools.delete(key);
  }

  /** Ends what is under way and returns when the last socket is closed. */
  async close(): Promise<void> {
    const failure = new ExchangeFailure('aborted', 'the HTTP client was closed', true);
    for (const pool of this.#pools.values()) pool.close(failure);
    await this.closing.settled();
  }
}

class OriginPool implements SlotOwner {
  readonly connector: Connector;
  readonly target: Target;
  readonly tls: TlsOffer | null;
  readonly slots = new Set<Slot>();
  readonly #pools: ConnectionPools;
  readonly #key: string;
  /** Slots that can take an exchange now, the most recently used last. */
  readonly #available: Slot[] = [];
  readonly #waiting: Exchange[] = [];
  /** Runs while the first TLS connection may still turn out to be HTTP/2 and carry all exchanges. */
  #holdTimer: NodeJS.Timeout | null = null;

  constructor(pools: ConnectionPools, key: string, target: Target, tls: TlsOffer | null) {
    this.#pools = pools;
    this.connector = pools.connector;
    this.#key = key;
    this.target = target;
    this.tls = tls;
    if (tls !== null) this.#holdTimer = setTimeout(() => this.endHold(), HOLD_MS);
  }

  /** Drops exchanges that ended while waiting. */
  get hasWaiting(): boolean {
    while (this.#waiting[0]?.isDone) this.#waiting.shift();
    return this.#waiting.length > 0;
  }

  run(exchange: Exchange): void {
    const slot = this.#takeSlot();
    if (slot === null) this.#waiting.push(exchange);
    else slot.serve(exchange, false);
  }

  /** Assigns waiting exchanges to free slots. */
  drain(): void {
    while (this.hasWaiting) {
      const slot = this.#takeSlot();
      if (slot === null) return;
      slot.serve(this.#waiting.shift()!, true);
    }
    this.#forgetIfEmpty();
  }

  /** The protocol is known, or the first connection failed or is slow. More connections may be opened. */
  endHold(): void {
    if (this.#holdTimer === null) return;
    clearTimeout(this.#holdTimer);
    this.#holdTimer = null;
    this.drain();
  }

  #takeSlot(): Slot | null {
    const free = this.#available.at(-1);
    if (free !== undefined) return free;
    if (this.#holdTimer !== null && this.slots.size > 0) return null;
    if (this.slots.size >= this.#pools.limits.connectionsPerOrigin || !this.#pools.makeRoom(this))
      return null;
    const slot = new Slot(this);
    this.slots.add(slot);
    this.#pools.slotCount++;
    this.setAvailable(slot, true);
    return slot;
  }

  setAvailable(slot: Slot, available: boolean): void {
    if (slot.listed === available) return;
    slot.listed = available;
    if (available) this.#available.push(slot);
    else if (this.#available.at(-1) === slot) this.#available.pop();
    else this.#available.splice(this.#available.indexOf(slot), 1);
  }

  taken(slot: Slot): void {
    this.#pools.idle.delete(slot);
  }

  /** A slot has finished an exchange. It serves the next one waiting here or elsewhere, or stays idle. */
  released(slot: Slot): void {
    const starving = slot.active === 0 ? this.#pools.takeStarving() : null;
    if (slot.active === 0 && (starving !== null || !slot.worthKeeping)) slot.discard();
    starving?.drain();
    this.drain();
    if (slot.active === 0 && !slot.discarded) this.#pools.idle.add(slot);
  }

  removed(slot: Slot, closing: Promise<void>): void {
    this.setAvailable(slot, false);
    this.slots.delete(slot);
    this.#pools.idle.delete(slot);
    this.#pools.slotCount--;
    this.#pools.closing.add(() => closing);
    this.#forgetIfEmpty();
  }

  #forgetIfEmpty(): void {
    if (this.slots.size > 0 || this.hasWaiting) return;
    if (this.#holdTimer !== null) clearTimeout(this.#holdTimer);
    this.#pools.forget(this.#key);
  }

  close(failure: ExchangeFailure): void {
    for (const exchange of this.#waiting.splice(0)) exchange.fail(failure);
    for (const slot of this.slots) slot.close(failure);
  }
}
