import { Tasks } from './tasks.ts';
import { type Clock, systemClock } from './time/clock.ts';

/**
 * Group commit: callers add single items and share round trips.
 *
 * An item starts a batch at the end of the current turn of the event loop if fewer than `maxInFlight` batches
 * run and the last one began at least `paceMs` ago. Otherwise it waits for that. An idle system therefore
 * adds no delay, and under load a batch takes everything that arrived meanwhile. A batch is cut at
 * `maxWeight`; a heavier single item goes alone. When more items wait than fit, each `sharer` gets an equal
 * part of the batch, and unused parts go to the others. A sharer with many items cannot delay one with few.
 * `run` returns one result per item, in order. If it throws, every item of the batch is rejected with that
 * error.
 */
export interface BatcherOptions<Item, Result> {
  /** One result per item. A result that is a promise takes part in no batch any more. */
  run(items: Item[]): Promise<(Result | Promise<Result>)[]>;
  weigh?(item: Item): number;
  /** The owner of an item, for fair batches. */
  sharer?(item: Item): string;
  maxWeight: number;
  maxInFlight: number;
  /** The minimum time between the starts of two batches. */
  paceMs: number;
  clock?: Clock;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #clock: Clock;
  readonly #running: Tasks;
  /** By sharer, each in order of arrival. The sharer served last stands last. No list is empty. */
  readonly #waiting = new Map<string, Waiting<Item, Result>[]>();
  #scheduled = false;
  #lastStart = Number.NEGATIVE_INFINITY;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#running = new Tasks(options.maxInFlight);
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const sharer = this.#options.sharer?.(item) ?? '';
      const queue = this.#waiting.get(sharer);
      if (queue === undefined) this.#waiting.set(sharer, [{ item, resolve, reject }]);
      else queue.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Waits until no item is waiting or running. */
  async drain(): Promise<void> {
    while (this.#waiting.size > 0 || this.#running.size > 0) {
      await this.#running.settled();
      if (this.#waiting.size > 0) await this.#clock.sleep(this.#options.paceMs);
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#running.isFull) return;
    this.#scheduled = true;
    const start = () => {
      this.#scheduled = false;
      this.#startBatches();
    };
    const wait = this.#lastStart + this.#options.paceMs - this.#clock.elapsed();
    if (wait > 0) this.#clock.after(wait, start);
    else setImmediate(start);
  }

  #startBatches(): void {
    this.#lastStart = this.#clock.elapsed();
    const goOn = () => {
      if (this.#waiting.size > 0) this.#schedule();
    };
    while (this.#waiting.size > 0 && this.#running.add(() => this.#run(this.#cut()), goOn));
  }

  #cut(): Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = [];
    let left = this.#options.maxWeight;
    for (let before = -1; before !== batch.length && this.#waiting.size > 0; ) {
      before = batch.length;
      const share = left / this.#waiting.size;
      // A copy, because sharers that are served move to the end.
      const sharers = [...this.#waiting.keys()];
      for (const sharer of sharers) left -= this.#take(batch, { sharer, share, left });
    }
    return batch;
  }

  /** Moves the items that fit into the share to the batch, at least one if there is room. Returns their weight. */
  #take(
    batch: Waiting<Item, Result>[],
    { sharer, share, left }: { sharer: string; share: number; left: number },
  ): number {
    const queue = this.#waiting.get(sharer) ?? [];
    let taken = 0;
    let count = 0;
    for (const { item } of queue) {
      const weight = this.#options.weigh?.(item) ?? 1;
      const fits = taken + weight <= (count === 0 ? left : share);
      if (!fits && batch.length + count > 0) break;
      taken += weight;
      count += 1;
    }
    if (count === 0) return 0;
    batch.push(...queue.splice(0, count));
    this.#waiting.delete(sharer);
    if (queue.length > 0) this.#waiting.set(sharer, queue);
    return taken;
  }

  async #run(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(batch.map((waiting) => waiting.item));
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result);
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
