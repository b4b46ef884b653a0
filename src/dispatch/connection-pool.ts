import type { Socket } from 'node:net';
import { type buildConnector, Client } from 'undici';
import type { Connector, Progress, Target, TlsOffer } from './connector.ts';
import type { Exchange, Line } from './exchange.ts';
import { ExchangeFailure } from './outcome.ts';

/**
 * Connections, kept alive and bounded per origin and overall. undici's own Pool is not used: it does not tell which
 * connection serves a request, cannot take back a waiting one and knows no overall bound.
 *
 * A slot is one undici Client: at most one connection, opened when first needed and again after it closed. A slot
 * serves one exchange at a time, or many once its connection turned out to be HTTP/2.
 * Invariants: `slotCount` is the number of slots of all pools and never exceeds `maxConnections`; a slot in `idle`
 * has no exchange and an open connection; exchanges wait only while their origin has all the slots it may have or
 * the overall bound is reached and no slot is idle; a pool without slots and waiting exchanges is forgotten.
 * An origin that waits without any slot gets the next slot that becomes free anywhere, so none starves.
 */

const H2_STREAMS = 100;
const IDLE_MS = 30_000;
const MAX_IDLE_MS = 60_000;
/** A connection that is never idle is still renewed, so that a change in DNS takes effect. */
const MAX_AGE_MS = 300_000;
const MAX_HEADER_BYTES = 16_384;
const HOLD_MS = 200;
/** What an endpoint may send of an answer before we have read any of it. */
const H2_WINDOW_BYTES = 65_535;

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
  readonly #closing = new Set<Promise<void>>();
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

  /** Room for one more slot, if need be by closing the connection that has been idle longest. */
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

  trackClosing(closing: Promise<void>): void {
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }

  /** Ends what is under way and returns when the last socket is closed. */
  async close(): Promise<void> {
    const failure = new ExchangeFailure('aborted', 'the HTTP client was closed', true);
    for (const pool of this.#pools.values()) pool.close(failure);
    await Promise.all(this.#closing);
  }
}

export class OriginPool {
  readonly pools: ConnectionPools;
  readonly target: Target;
  readonly tls: TlsOffer | null;
  readonly slots = new Set<Slot>();
  readonly #key: string;
  /** Slots that can take an exchange now, the most recently used last. */
  readonly #available: Slot[] = [];
  readonly #waiting: Exchange[] = [];
  /** Runs while the first TLS connection may still turn out to be HTTP/2 and carry them all. */
  #holdTimer: NodeJS.Timeout | null = null;

  constructor(pools: ConnectionPools, key: string, target: Target, tls: TlsOffer | null) {
    this.pools = pools;
    this.#key = key;
    this.target = target;
    this.tls = tls;
    if (tls !== null) this.#holdTimer = setTimeout(() => this.endHold(), HOLD_MS);
  }

  /** Those that gave up while waiting are let go here. */
  get hasWaiting(): boolean {
    while (this.#waiting[0]?.isDone) this.#waiting.shift();
    return this.#waiting.length > 0;
  }

  run(exchange: Exchange): void {
    const slot = this.#takeSlot();
    if (slot === null) this.#waiting.push(exchange);
    else slot.serve(exchange, false);
  }

  /** Gives waiting exchanges to whatever is free. */
  drain(): void {
    while (this.hasWaiting) {
      const slot = this.#takeSlot();
      if (slot === null) return;
      slot.serve(this.#waiting.shift()!, true);
    }
    this.#forgetIfEmpty();
  }

  /** The protocol is known, or the first connection failed or is slow: others may be opened beside it. */
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
    if (this.slots.size >= this.pools.limits.connectionsPerOrigin || !this.pools.makeRoom(this)) return null;
    const slot = new Slot(this);
    this.slots.add(slot);
    this.pools.slotCount++;
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

  /** A slot has finished an exchange: serve who waits here or elsewhere, or keep its connection for later. */
  released(slot: Slot): void {
    const starving = slot.active === 0 ? this.pools.takeStarving() : null;
    if (starving !== null) {
      slot.discard();
      starving.drain();
    }
    this.drain();
    if (slot.discarded || slot.active > 0) return;
    if (slot.worthKeeping) this.pools.idle.add(slot);
    else slot.discard();
  }

  removed(slot: Slot): void {
    this.setAvailable(slot, false);
    this.slots.delete(slot);
    this.pools.idle.delete(slot);
    this.pools.slotCount--;
    this.#forgetIfEmpty();
  }

  #forgetIfEmpty(): void {
    if (this.slots.size > 0 || this.hasWaiting) return;
    if (this.#holdTimer !== null) clearTimeout(this.#holdTimer);
    this.pools.forget(this.#key);
  }

  close(failure: ExchangeFailure): void {
    for (const exchange of this.#waiting.splice(0)) exchange.fail(failure);
    for (const slot of this.slots) slot.close(failure);
  }
}

class Slot implements Line {
  progress: Progress = { stage: 'dns', address: null };
  active = 0;
  listed = false;
  discarded = false;
  readonly #pool: OriginPool;
  readonly #client: Client;
  readonly #exchanges = new Set<Exchange>();
  #capacity = 1;
  #uses = 0;
  #open = false;
  #full = false;
  #openedMs = 0;
  #connecting: AbortController | null = null;

  constructor(pool: OriginPool) {
    this.#pool = pool;
    this.#client = new Client(pool.target.origin, {
      connect: (_options, callback) => void this.#connect(callback),
      pipelining: 1,
      allowH2: true,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
      initialWindowSize: H2_WINDOW_BYTES,
      maxConcurrentStreams: H2_STREAMS,
    });
    this.#client.on('disconnect', () => this.#disconnected());
    this.#client.on('drain', () => this.#drained());
  }

  get worthKeeping(): boolean {
    return this.#open && performance.now() - this.#openedMs < MAX_AGE_MS;
  }

  serve(exchange: Exchange, waited: boolean): void {
    this.active++;
    this.#exchanges.add(exchange);
    if (this.active === 1) this.#pool.pools.idle.delete(this);
    if (this.active >= this.#capacity) this.#pool.setAvailable(this, false);
    exchange.place(this, waited);
    const takesMore = this.#client.dispatch(exchange.job.options, exchange);
    // An endpoint may allow fewer streams than we would use; undici then says so, and again when there is room.
    if (takesMore || this.#capacity === 1) return;
    this.#full = true;
    this.#pool.setAvailable(this, false);
  }

  use(): boolean {
    return this.#uses++ > 0;
  }

  release(exchange: Exchange): void {
    if (!this.#exchanges.delete(exchange)) return;
    this.active--;
    this.#offer();
    this.#pool.released(this);
  }

  abandon(): void {
    if (this.active === 1 && this.#connecting !== null) this.discard();
  }

  resend(exchange: Exchange): void {
    // undici is still taking the dead connection down when it reports it.
    setImmediate(() => {
      if (!exchange.isDone) this.#client.dispatch(exchange.job.options, exchange);
    });
  }

  discard(): void {
    if (this.discarded) return;
    this.discarded = true;
    this.#connecting?.abort();
    this.#pool.pools.trackClosing(this.#client.destroy());
    this.#pool.removed(this);
  }

  close(failure: ExchangeFailure): void {
    for (const exchange of this.#exchanges) exchange.fail(failure);
    this.discard();
  }

  async #connect(callback: buildConnector.Callback): Promise<void> {
    const aborter = new AbortController();
    const progress: Progress = { stage: 'dns', address: null };
    this.progress = progress;
    this.#connecting = aborter;
    this.#uses = 0;
    const { target, tls, pools } = this.#pool;
    let socket: Socket;
    try {
      socket = await pools.connector.open({ target, tls, progress, signal: aborter.signal });
    } catch (error) {
      this.#connecting = null;
      callback(error as Error, null);
      this.#pool.endHold();
      return;
    }
    this.#connecting = null;
    this.#open = true;
    this.#openedMs = performance.now();
    const isH2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
    this.#capacity = isH2 ? H2_STREAMS : 1;
    callback(null, socket);
    // How many streams the endpoint allows is known with its settings; `drain` follows them.
    if (isH2) this.#full = true;
    else this.#pool.endHold();
  }

  #offer(): void {
    if (this.discarded || this.#full || this.active >= this.#capacity) return;
    this.#pool.setAvailable(this, true);
  }

  #drained(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#offer();
    this.#pool.endHold();
    this.#pool.drain();
  }

  #disconnected(): void {
    this.#open = false;
    this.#full = false;
    this.#capacity = 1;
    if (this.active === 0) this.discard();
    else this.#pool.setAvailable(this, false);
  }
}
