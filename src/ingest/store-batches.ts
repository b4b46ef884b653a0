import { AppError } from '../domain/errors.ts';
import { Batcher } from '../platform/batcher.ts';
import type { Turns } from '../platform/turns.ts';
import { isLarge, type PreparedEvent } from './prepare-event.ts';
import { RETRY_SECONDS } from './store-error.ts';
import type { EventResult, EventStore, PreparedGroup } from './store-events.ts';
import type { LotResult, LotStore, PreparedLot } from './store-lots.ts';

/**
 * Events that arrive at the same time share a commit, those of calls one and the lots of brokers another. Waiting projects
 * share a batch evenly. A large ordered fan-out goes alone, after the one before it, and the others do not wait for it.
 *
 * While the database is away no event waits long: those that waited longer than MAX_WAIT_MS are refused.
 */
const MAX_BATCH_WEIGHT = 500;
const BATCHES_IN_FLIGHT = 2;
const PACE_MS = 5;
const MAX_WAIT_MS = 3_000;
const BYTES_PER_WEIGHT = 4_096;

interface Waiting {
  /** The events of a call, or a lot of a broker. */
  item: PreparedGroup | PreparedLot;
  /** By the monotonic clock. */
  since: number;
}

type Result = EventResult[] | LotResult | Error;

interface StoreBatchesDeps {
  events: EventStore;
  lots: LotStore;
  /** One large ordered fan-out of this node at a time. */
  largeTurns: Turns;
}

export class StoreBatches {
  readonly #deps: StoreBatchesDeps;
  readonly #shared: Batcher<Waiting, Result>;
  readonly #large: Batcher<Waiting, Result>;

  constructor(deps: StoreBatchesDeps) {
    this.#deps = deps;
    const sharer = ({ item }: Waiting) => item.items[0]?.event.projectId ?? '';
    this.#shared = new Batcher({
      run: (waiting) => this.#storeInTime(waiting),
      weigh: ({ item }) => item.items.reduce((sum, one) => sum + weigh(one), 0),
      sharer,
      maxWeight: MAX_BATCH_WEIGHT,
      maxInFlight: BATCHES_IN_FLIGHT,
      paceMs: PACE_MS,
    });
    this.#large = new Batcher({
      run: (waiting) => deps.largeTurns.run('', () => this.#storeInTime(waiting)),
      sharer,
      maxWeight: 1,
      maxInFlight: 1,
      paceMs: 0,
    });
  }

  /** Waits for a place in a batch, and stores it. */
  store(item: PreparedGroup): Promise<EventResult[] | Error>;
  store(item: PreparedLot): Promise<LotResult | Error>;
  store(item: PreparedGroup | PreparedLot): Promise<Result> {
    const ordered = item.items.reduce((sum, one) => sum + one.ordered, 0);
    const batcher = isLarge(ordered) ? this.#large : this.#shared;
    return batcher.add({ item, since: performance.now() });
  }

  /** Waits for all of them to be stored. */
  async drain(): Promise<void> {
    await Promise.all([this.#shared.drain(), this.#large.drain()]);
  }

  /** A slow database makes batches wait long. Events behind them are refused instead of tried in turn. */
  async #storeInTime(waiting: Waiting[]): Promise<Result[]> {
    const { events } = this.#deps;
    const tooLate = performance.now() - MAX_WAIT_MS;
    const inTime = waiting.filter(({ since }) => since >= tooLate).map(({ item }) => item);
    const [stored, lots] = await Promise.all([
      events.store(inTime.filter((item): item is PreparedGroup => !isLot(item))),
      this.#storeLots(inTime.filter(isLot)),
    ]);
    const results = stored.values();
    const lotResults = lots.values();
    return waiting.map(({ item, since }) =>
      since >= tooLate
        ? ((isLot(item) ? lotResults : results).next().value as EventResult[] | LotResult)
        : new AppError(events.isAway ? 'database_unavailable' : 'overloaded', { retry: RETRY_SECONDS }),
    );
  }

  /** A lot that fails does not fail the events of the same batch. */
  async #storeLots(lots: PreparedLot[]): Promise<LotResult[]> {
    if (lots.length === 0) return [];
    try {
      return await this.#deps.lots.store(lots);
    } catch (error) {
      return lots.map(() => ({ done: 0, stored: 0, repeats: 0, error: error as Error }));
    }
  }
}

const isLot = (item: PreparedGroup | PreparedLot): item is PreparedLot => 'lot' in item;

/** How much of a batch it takes up. */
const weigh = ({ event, deliveries }: PreparedEvent): number =>
  1 + deliveries.length + event.payload.length / BYTES_PER_WEIGHT;
