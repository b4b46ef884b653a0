import type { DeliverySink } from '../domain/delivery-sink.ts';
import type { HeldDelivery } from '../domain/event-delivery.ts';
import type { Logger } from '../platform/logger.ts';
import type { Finish } from '../store/finish-deliveries.ts';
import type { DeliverySender } from './delivery-sender.ts';
import type { Finisher } from './finisher.ts';
import type { Lease } from './lease.ts';

/**
 * The deliveries this node holds, in memory, bounded by the window. Of each:
 *
 *   reserved -> a place is taken before its row is stored as held by this node;
 *   waiting  -> held and known, queued behind its endpoint's other deliveries;
 *   sending  -> its request is under way;
 *   recording -> its outcome is on the way to the database; then it leaves and its place is free.
 *
 * An endpoint may hold at most half the window and send at most `endpointConcurrency` at a time, so one that hangs
 * cannot take the others' places. While the lease is not fresh nothing is sent: what waits stays waiting.
 */
interface EndpointQueue {
  held: number;
  sending: number;
  waiting: HeldDelivery[];
}

export interface DispatcherDeps {
  sender: DeliverySender;
  finisher: Finisher;
  lease: Lease;
  log: Logger;
  window: number;
  endpointConcurrency: number;
}

export interface QueueListener {
  /** Rows of a key wait in the queue, due in this many milliseconds. */
  waiting(projectId: string, where: { key: string; lane: number }, dueInMs: number): void;
  /** A place in the window became free. */
  roomFreed(): void;
  unsure(): void;
}

export class Dispatcher implements DeliverySink {
  readonly #deps: DispatcherDeps;
  readonly #endpoints = new Map<string, EndpointQueue>();
  /** Every place taken: delivery id to endpoint id. */
  readonly #places = new Map<string, string>();
  readonly #abort = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  #listener: QueueListener | undefined;
  #closed = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  listen(listener: QueueListener): void {
    this.#listener = listener;
  }

  reserve(deliveryId: string, endpointId: string): boolean {
    if (this.#closed || this.#places.has(deliveryId) || this.room(endpointId) < 1) return false;
    this.#places.set(deliveryId, endpointId);
    this.#queue(endpointId).held += 1;
    return true;
  }

  unreserve(deliveryId: string): void {
    const endpointId = this.#places.get(deliveryId);
    if (endpointId === undefined) return;
    this.#places.delete(deliveryId);
    const queue = this.#queue(endpointId);
    queue.held -= 1;
    if (queue.held === 0) this.#endpoints.delete(endpointId);
    this.#listener?.roomFreed();
  }

  start(delivery: HeldDelivery): void {
    const queue = this.#queue(delivery.endpointId);
    queue.waiting.push(delivery);
    this.#pump(queue);
  }

  waiting(projectId: string, where: { key: string; lane: number }): void {
    this.#listener?.waiting(projectId, where, 0);
  }

  unsure(): void {
    this.#listener?.unsure();
  }

  holds(deliveryId: string): boolean {
    return this.#places.has(deliveryId);
  }

  /** How many more deliveries of an endpoint this node would take. */
  room(endpointId: string): number {
    const { window } = this.#deps;
    const share = Math.max(1, Math.floor(window / 2)) - (this.#endpoints.get(endpointId)?.held ?? 0);
    return Math.max(0, Math.min(window - this.#places.size, share));
  }

  isBusy(endpointId: string): boolean {
    return (this.#endpoints.get(endpointId)?.held ?? 0) > 0;
  }

  /** The lease is fresh again: carry on with what waits. */
  resume(): void {
    for (const queue of this.#endpoints.values()) this.#pump(queue);
  }

  /** Forgets what waits unsent, since its rows may have been taken over while this node was silent. */
  forgetWaiting(): HeldDelivery[] {
    const forgotten = [...this.#endpoints.values()].flatMap((queue) => queue.waiting.splice(0));
    for (const delivery of forgotten) this.unreserve(delivery.id);
    return forgotten;
  }

  /** Takes no more; resolves when all that was being sent is recorded, at the latest `graceMs` from now cut off. */
  async close(graceMs: number): Promise<HeldDelivery[]> {
    this.#closed = true;
    const unsent = this.forgetWaiting();
    const cutOff = setTimeout(() => this.#abort.abort(), graceMs);
    await Promise.all(this.#sending);
    clearTimeout(cutOff);
    return unsent;
  }

  #queue(endpointId: string): EndpointQueue {
    let queue = this.#endpoints.get(endpointId);
    if (queue === undefined) {
      queue = { held: 0, sending: 0, waiting: [] };
      this.#endpoints.set(endpointId, queue);
    }
    return queue;
  }

  #pump(queue: EndpointQueue): void {
    while (
      queue.waiting.length > 0 &&
      queue.sending < this.#deps.endpointConcurrency &&
      this.#deps.lease.isFresh()
    ) {
      const delivery = queue.waiting.shift() as HeldDelivery;
      queue.sending += 1;
      const sending = this.#send(delivery, queue).finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
  }

  async #send(delivery: HeldDelivery, queue: EndpointQueue): Promise<void> {
    let finish: Finish | undefined;
    try {
      finish = await this.#deps.sender.send(delivery, this.#abort.signal);
    } catch (error) {
      // Not the endpoint's doing. The row stays held by this node and is given back by the next reconciliation.
      this.#deps.log.error({ err: error, delivery: delivery.id }, 'delivery could not be tried');
    }
    queue.sending -= 1;
    this.#pump(queue);
    if (finish !== undefined) await this.#record(delivery, finish);
    this.unreserve(delivery.id);
    if (finish === undefined) this.unsure();
  }

  async #record(delivery: HeldDelivery, finish: Finish): Promise<void> {
    const moved = await this.#deps.finisher.finish(finish);
    if (!moved) {
      this.#deps.log.warn(
        { delivery: delivery.id },
        'late outcome: the delivery was taken over or cancelled',
      );
      // It may have been resent since and claimed by this very node, which had no place for it twice.
      this.unsure();
    } else if (finish.delayMs !== null)
      this.#listener?.waiting(delivery.projectId, { key: delivery.key, lane: finish.lane }, finish.delayMs);
  }
}
