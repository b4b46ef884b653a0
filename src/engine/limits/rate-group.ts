import { type RateLimit, SendWindow, slackMs } from '../../domain/config/rate-limit.ts';
import type { Clock } from '../../platform/time/clock.ts';

/**
 * The rate limits of one endpoint and its subscriptions, counted by this node while it has their rate lease.
 * States of a delivery:
 *   pending -> claimed, not yet sent: its function, credentials or connection are being prepared, or it waits;
 *   waiting -> everything is ready and its connection is open. It is called as soon as its limits allow a send;
 *   sent    -> counted in the same turn of the event loop that writes its first byte.
 *
 * Only as many are pending as may be sent within `lookaheadMs`, so none is prepared long before its time. The lookahead
 * covers the claims of a database 500 ms away without having measured it: a claim waits for the round before it,
 * then for its own answer. Rounds that were measured to take longer raise it. Measured preparation is added, so that a
 * slow function, token server or connection delays deliveries without lowering the rate.
 *
 * All times are of the monotonic clock. If the sends of earlier holders are known, they are in the windows.
 * Otherwise the limit is assumed to be used up, and nothing is sent for one duration: `unknownUntil`.
 */
export interface NamedLimit {
  key: string;
  limit: RateLimit;
}

/** `none`: this holder began no send. */
export type LeftSends = Record<string, number[]> | 'none' | 'unknown';

interface Waiter {
  limits(): readonly NamedLimit[];
  again(): void;
}

/** Two claims at 500 ms each, and as much again for a busy machine and a first connection. */
const CLAIM_LOOKAHEAD_MS = 3_000;
/** A claim waits for the round before it, then for its own. The third is a margin, because the next round may be slower. */
const ROUNDS_PER_LOOKAHEAD = 3;
const MOST_LOOKAHEAD_MS = 10_000;
/** How fast a slow preparation is forgotten, per delivery, and a slow round, per round. */
const FORGET = 0.95;
const LEAST_IDLE_MS = 10_000;
/** Larger lists are not passed on. The next holder waits for one duration instead. */
const MOST_SENDS_LEFT = 2_000;

export class RateGroup {
  readonly epoch: number;
  /** Since when no earlier holder has begun a send, and the known sends before. Null: unknown. */
  readonly #quietSince: number;
  readonly #known: Readonly<Record<string, number[]>> | null;
  readonly #windows = new Map<string, SendWindow>();
  readonly #limits = new Map<string, RateLimit>();
  /** By delivery: the key it was claimed by. */
  readonly #pending = new Map<string, string>();
  readonly #pendingOf = new Map<string, number>();
  #waiters = new Set<Waiter>();
  readonly #clock: Clock;
  #cancelCall = () => {};
  #plannedAt = Number.POSITIVE_INFINITY;
  #slowestMs = 0;
  #slowestRoundMs = 0;
  #isSettling = false;
  #usedAt: number;

  constructor(
    taken: { epoch: number; quietMs: number; sends: Record<string, number[]> | null },
    clock: Clock,
  ) {
    const now = clock.elapsed();
    this.#clock = clock;
    this.epoch = taken.epoch;
    this.#quietSince = now - taken.quietMs;
    this.#known = taken.sends;
    this.#usedAt = now;
  }

  get lookaheadMs(): number {
    const claimMs = Math.max(CLAIM_LOOKAHEAD_MS, ROUNDS_PER_LOOKAHEAD * this.#slowestRoundMs);
    return Math.min(MOST_LOOKAHEAD_MS, claimMs + 2 * this.#slowestMs);
  }

  /** How many more may be claimed, `wanted` at most, and when one more than that. `taken`: by this round already. */
  allowance(
    limits: readonly NamedLimit[],
    ask: { wanted: number; taken: ReadonlyMap<string, number>; lookaheadMs?: number; endpointId: string },
  ): { count: number; moreAt: number } {
    const now = this.#clock.elapsed();
    const lookaheadMs = ask.lookaheadMs ?? this.lookaheadMs;
    const ahead = (key: string) =>
      (ask.taken.get(key) ?? 0) +
      (key === ask.endpointId ? this.#pending.size : (this.#pendingOf.get(key) ?? 0));
    const placeAt = (n: number) =>
      Math.max(...limits.map(({ key, limit }) => this.#startAt({ key, limit }, ahead(key) + n, now)));
    let count = 0;
    while (count < ask.wanted && placeAt(count + 1) <= now + lookaheadMs) count += 1;
    return { count, moreAt: placeAt(count + 1) - lookaheadMs };
  }

  /** A round of claims took so long, from its start to its answer. */
  roundTook(ms: number): void {
    this.#slowestRoundMs = Math.max(ms, this.#slowestRoundMs * FORGET);
  }

  /** A delivery was claimed. */
  claimed(deliveryId: string, key: string): void {
    if (this.#pending.has(deliveryId)) return;
    this.#pending.set(deliveryId, key);
    this.#pendingOf.set(key, (this.#pendingOf.get(key) ?? 0) + 1);
  }

  /** It is no longer pending: sent, or left unsent. Returns the key it was claimed by. */
  left(deliveryId: string): string | undefined {
    const key = this.#pending.get(deliveryId);
    if (key === undefined) return undefined;
    this.#pending.delete(deliveryId);
    const left = (this.#pendingOf.get(key) ?? 1) - 1;
    if (left === 0) this.#pendingOf.delete(key);
    else this.#pendingOf.set(key, left);
    return key;
  }

  /** A delivery is prepared for sending. Returns the function to call when everything but its turn is ready. */
  preparing(): () => void {
    const startedAt = this.#clock.elapsed();
    let isReady = false;
    return () => {
      if (isReady) return;
      isReady = true;
      this.#slowestMs = Math.max(this.#clock.elapsed() - startedAt, this.#slowestMs * FORGET);
    };
  }

  /** Counts a send that starts now, if all limits allow it. */
  take(limits: readonly NamedLimit[]): boolean {
    const now = this.#clock.elapsed();
    if (limits.some((named) => this.#startAt(named, 1, now) > now)) return false;
    this.count(limits, now);
    return true;
  }

  /** Counts a send even if it is over the limit. */
  count(limits: readonly NamedLimit[], now = this.#clock.elapsed()): void {
    for (const { key, limit } of limits) this.#window(key, now).add(limit, now);
    this.#usedAt = now;
    if (this.#isSettling) return;
    this.#isSettling = true;
    // By then the bytes have been passed to the kernel.
    queueMicrotask(() => {
      this.#isSettling = false;
      const written = this.#clock.elapsed();
      for (const window of this.#windows.values()) window.written(written);
    });
  }

  /** Calls `again` once the limits may allow a send. Returns a function that stops waiting. */
  wait(waiter: Waiter): () => void {
    this.#waiters.add(waiter);
    this.#plan(this.#nextOf(waiter, this.#clock.elapsed()));
    return () => this.#waiters.delete(waiter);
  }

  /** Calls every waiter: the limits have changed, or the lease is lost. */
  wakeAll(): void {
    this.#cancelCall();
    this.#plannedAt = Number.POSITIVE_INFINITY;
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const waiter of waiters) waiter.again();
  }

  /** Nothing is pending, and no send of this node or an earlier one can block another. */
  get isIdle(): boolean {
    if (this.#pending.size > 0 || this.#waiters.size > 0) return false;
    const longestMs = Math.max(LEAST_IDLE_MS, ...[...this.#limits.values()].map((limit) => limit.durationMs));
    return this.#clock.elapsed() - this.#usedAt > longestMs + slackMs(longestMs);
  }

  /** For the next holder: how long ago the latest sends of each limit began. */
  sends(): LeftSends {
    const now = this.#clock.elapsed();
    if ([...this.#windows.values()].every((window) => window.lastAt <= this.#quietSince)) return 'none';
    const limits = [...this.#limits];
    if (limits.some(([, limit]) => this.#unknownUntil(limit) > now)) return 'unknown';
    const ages = limits.map(([key, limit]): [string, number[]] => [
      key,
      this.#window(key, now).ages(limit, now),
    ]);
    if (ages.reduce((sum, [, of]) => sum + of.length, 0) > MOST_SENDS_LEFT) return 'unknown';
    return Object.fromEntries(ages.map(([key, of]) => [key, of.map(Math.floor)]));
  }

  #startAt({ key, limit }: NamedLimit, place: number, now: number): number {
    this.#limits.set(key, limit);
    return this.#window(key, now).startAt(limit, place, Math.max(now, this.#unknownUntil(limit)));
  }

  #unknownUntil({ durationMs }: RateLimit): number {
    if (this.#known !== null) return Number.NEGATIVE_INFINITY;
    return this.#quietSince + durationMs + slackMs(durationMs);
  }

  #window(key: string, now: number): SendWindow {
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = new SendWindow(this.#known?.[key]?.map((age) => Math.min(now, this.#quietSince - age)) ?? []);
      this.#windows.set(key, window);
    }
    return window;
  }

  #plan(at: number): void {
    if (at >= this.#plannedAt) return;
    this.#cancelCall();
    this.#plannedAt = at;
    const inMs = Math.max(0, Math.ceil(at - this.#clock.elapsed()));
    this.#cancelCall = this.#clock.after(inMs, () => this.#callReady());
  }

  #nextOf(waiter: Waiter, now: number): number {
    return Math.max(now, ...waiter.limits().map((named) => this.#startAt(named, 1, now)));
  }

  #callReady(): void {
    this.#plannedAt = Number.POSITIVE_INFINITY;
    // A called waiter may wait again. It is not called twice.
    const waiters = [...this.#waiters];
    for (const waiter of waiters) {
      const now = this.#clock.elapsed();
      const at = this.#nextOf(waiter, now);
      if (at > now) this.#plan(at);
      else if (this.#waiters.delete(waiter)) waiter.again();
    }
  }
}
