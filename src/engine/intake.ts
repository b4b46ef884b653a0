import { LANE, type LeasedDelivery, type QueueKey } from '../domain/delivery.ts';
import { type DeliverySink, type Destination, placesOf, type QueueRowKey } from '../domain/delivery-sink.ts';
import type { Released } from '../store/ordering/release-next.ts';
import type { BatchFormer } from './batching/batch-former.ts';
import type { Pull } from './pull/pull.ts';
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
  pull: Pick<Pull, 'stored'>;
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

  waiting(projectId: string, where: { key: QueueKey; lane: number }, dueInMs = 0, bytes = 0): void {
    const { delivers, claimer, notifier, pull, batches } = this.#deps;
    if (delivers && dueInMs <= 0 && batches.collects(projectId, where))
      return batches.stored(projectId, where.key, bytes);
    (delivers ? claimer : notifier).waiting(projectId, where, dueInMs);
    if (dueInMs <= 0) pull.stored(where.key);
  }

  /** A batch takes it together with the one before it. */
  waitingBehind(projectId: string, key: QueueKey, bytes: number): void {
    const { delivers, batches } = this.#deps;
    if (delivers && batches.collects(projectId, { key, lane: LANE.first }))
      batches.stored(projectId, key, bytes);
  }

  /** The next deliveries of ordering keys are due. */
  readonly released = (places: readonly Released[]): void => {
    const { delivers, batches } = this.#deps;
    for (const { projectId, key, lane } of places) {
      // More of the key wait behind it, maybe enough for a batch.
      if (delivers && batches.collects(projectId, { key, lane })) batches.found(projectId, key);
      else this.waiting(projectId, { key, lane });
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
