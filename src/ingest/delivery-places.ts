import { LANE, TEST_EVENT_TYPE } from '../domain/delivery.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import type { InFlightIds } from '../domain/in-flight-ids.ts';
import type { AcceptedCounts } from '../metrics/accepted-counts.ts';
import { leasedDelivery, type PreparedEvent } from './prepare-event.ts';

/** Places in the dispatcher's window for the deliveries of events that are about to be stored. */
export class DeliveryPlaces {
  readonly #sink: DeliverySink;
  readonly #inFlight: InFlightIds;
  readonly #counts: Pick<AcceptedCounts, 'accepted'>;

  readonly #now: () => number;

  constructor(deps: {
    sink: DeliverySink;
    inFlight: InFlightIds;
    counts: Pick<AcceptedCounts, 'accepted'>;
    /** The database's time in milliseconds. */
    now(): number;
  }) {
    this.#sink = deps.sink;
    this.#inFlight = deps.inFlight;
    this.#counts = deps.counts;
    this.#now = deps.now;
  }

  reserve(items: readonly PreparedEvent[]): void {
    for (const { event, deliveries } of items) {
      for (const delivery of deliveries)
        delivery.leased =
          delivery.isUngated && this.#sink.reserve(delivery.id, delivery, event.payload.length);
    }
  }

  unreserve(items: readonly PreparedEvent[]): void {
    for (const delivery of items.flatMap((item) => item.deliveries)) {
      if (delivery.leased) this.#sink.unreserve(delivery.id);
      delivery.leased = false;
    }
  }

  /** The answer to a statement was lost, so this node may lease rows of these events, or commit them yet. */
  unsure(items: readonly PreparedEvent[]): void {
    this.#inFlight.unsure(items.map(({ event }) => event.id));
    this.#sink.unsure(items.flatMap((item) => item.deliveries));
  }

  /**
   * The event is committed: deliveries with a place are sent, the others wait in the queue. Those in `waiting` wait for
   * their turn in their ordering key.
   */
  stored(item: PreparedEvent, waiting: ReadonlySet<string>): void {
    if (item.event.eventType !== TEST_EVENT_TYPE) this.#counts.accepted(item.event, item.deliveries);
    if (item.expansion !== null) this.#sink.expansionStored();
    for (const delivery of item.deliveries) {
      if (waiting.has(delivery.id)) {
        if (delivery.leased) this.#sink.unreserve(delivery.id);
        this.#sink.waitingBehind(delivery.projectId, delivery.key, item.event.payload.length);
      } else if (delivery.leased) this.#sink.start(leasedDelivery(delivery, item.event));
      else this.#waits(delivery, item.event.payload.length);
    }
  }

  #waits({ projectId, key, dueAtMs }: PreparedEvent['deliveries'][number], bytes: number): void {
    const dueInMs = dueAtMs === null ? 0 : dueAtMs - this.#now();
    this.#sink.waiting({ projectId, key, lane: LANE.first }, dueInMs, bytes);
  }
}
