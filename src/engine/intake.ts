import { LANE, type LeasedDelivery, type Place, type QueueKey } from '../domain/delivery.ts';
import { type DeliverySink, type Destination, placesOf, type QueueRowKey } from '../domain/delivery-sink.ts';
import type { BatchFormer } from './batching/batch-former.ts';
import type { PullQueue } from './pull/pull-queue.ts';
import type { Claimer } from './queue/claimer.ts';
import type { Dispatcher } from './queue/dispatcher.ts';
import type { DueNotifier } from './queue/due-notifier.ts';
import type { Expander } from './queue/expander.ts';

/**
 * Where stored deliveries enter the engine. Those with a place in the window go to the dispatcher. Rows that wait are
 * for the claims of this node, or of others if it does not deliver, and for consumers that wait here.
 */
export interface IntakeDeps {
  delivers: boolean;
  dispatcher: Pick<Dispatcher, 'reserve' | 'unreserve' | 'start'>;
  claimer: Pick<Claimer, 'waiting' | 'unsure' | 'live'>;
  notifier: Pick<DueNotifier, 'waiting'>;
  expander: Pick<Expander, 'wake'>;
  pull: Pick<PullQueue, 'stored'>;
  batches: Pick<BatchFormer, 'collects' | 'found' | 'stored'>;
}

export class Intake implements DeliverySink {
  readonly #deps: IntakeDeps;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  reserve(deliveryId: string, to: Destination, bytes: number): boolean {
    this.#deps.claimer.live(to.projectId);
    return this.#deps.dispatcher.reserve(deliveryId, to, placesOf(bytes));
  }

  unreserve(deliveryId: string): void {
    this.#deps.dispatcher.unreserve(deliveryId);
  }

  start(delivery: LeasedDelivery): void {
    this.#deps.dispatcher.start(delivery);
  }

  waiting(place: Place, dueInMs = 0, bytes = 0): void {
    const { delivers, claimer, notifier, pull, batches } = this.#deps;
    if (delivers && dueInMs <= 0 && batches.collects(place)) return batches.stored(place, bytes);
    (delivers ? claimer : notifier).waiting(place, dueInMs);
    if (dueInMs <= 0) pull.stored(place.key);
  }

  /** A batch takes it together with the one before it. */
  waitingBehind(projectId: string, key: QueueKey, bytes: number): void {
    const { delivers, batches } = this.#deps;
    const place = { projectId, key, lane: LANE.first };
    if (delivers && batches.collects(place)) batches.stored(place, bytes);
  }

  /** The next deliveries of ordering keys are due. */
  readonly released = (places: readonly Place[]): void => {
    const { delivers, batches } = this.#deps;
    for (const place of places) {
      // More of the key wait behind it, maybe enough for a batch.
      if (delivers && batches.collects(place)) batches.found(place);
      else this.waiting(place);
    }
  };

  expansionStored(): void {
    if (this.#deps.delivers) this.#deps.expander.wake();
  }

  /** A node that does not deliver leases no rows. */
  unsure(rows: readonly QueueRowKey[]): void {
    if (this.#deps.delivers) this.#deps.claimer.unsure(rows);
  }
}
