import type { Lot } from '../../ingest/lot.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ReceivedMessage } from './broker-module.ts';

/** A queue that gives a message to one consumer for a while, and to another one if it is not acknowledged in that time. */
export interface LeasedQueue {
  part: Pick<Lot, 'stream' | 'order'>;
  /** The lease of a message that was just received. */
  firstLeaseMs: number;
  /** `waits`: for messages, if there are none. Resolves with what was received when the signal aborts. */
  receive(waits: boolean, signal: AbortSignal): Promise<LeasedMessage[]>;
  acknowledge(receipts: readonly string[]): Promise<void>;
  /** Leases from now on; 0 gives back. Those that are refused for good. */
  lease(receipts: readonly string[], ms: number): Promise<readonly string[]>;
}

export interface LeasedMessage extends ReceivedMessage {
  receipt: string;
}

/**
 * Messages that a worker received from a queue that leases them. While a message is held its lease is renewed, well
 * before it ends. In the end it is
 *   acknowledged -> by the worker, after it was stored;
 *   given back   -> to be delivered to any consumer, at once;
 *   lost         -> the node died, or the queue refuses to renew: it comes again by itself and is dropped as a repeat.
 */
export const LEASE_MS = 30_000;
const CHECK_MS = 3_000;
const RENEW_BELOW_MS = 20_000;

export class LeasedMessages {
  readonly #queue: LeasedQueue;
  readonly #log: Logger;
  /** By receipt, until when each is leased. */
  readonly #leasedUntil = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(queue: LeasedQueue, log: Logger) {
    this.#queue = queue;
    this.#log = log;
    this.#timer = setInterval(() => void this.#renew(), CHECK_MS);
  }

  hold(receipts: readonly string[], leaseMs: number): void {
    const until = performance.now() + leaseMs;
    for (const receipt of receipts) this.#leasedUntil.set(receipt, until);
  }

  drop(receipts: readonly string[]): void {
    for (const receipt of receipts) this.#leasedUntil.delete(receipt);
  }

  /** Gives back everything. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const receipts = [...this.#leasedUntil.keys()];
    this.#leasedUntil.clear();
    await this.#lease(receipts, 0);
  }

  async #renew(): Promise<void> {
    const now = performance.now();
    const due = [...this.#leasedUntil].flatMap(([receipt, until]) =>
      until - now < RENEW_BELOW_MS ? [receipt] : [],
    );
    const refused = await this.#lease(due, LEASE_MS);
    if (refused === undefined) return;
    this.drop(refused);
    for (const receipt of due)
      if (this.#leasedUntil.has(receipt)) this.#leasedUntil.set(receipt, now + LEASE_MS);
  }

  /** The receipts that are refused for good. Undefined: it cannot be done now. */
  async #lease(receipts: readonly string[], ms: number): Promise<readonly string[] | undefined> {
    if (receipts.length === 0) return [];
    try {
      const refused = await this.#queue.lease(receipts, ms);
      if (refused.length > 0) this.#log.debug({ count: refused.length }, 'leases of messages were refused');
      return refused;
    } catch (error) {
      this.#log.debug({ err: error }, 'leases of messages could not be changed');
      return undefined;
    }
  }
}
