/**
 * Group commit: callers hand in single items and share round trips.
 *
 * An item starts a batch at the end of the current turn of the event loop if fewer than `maxInFlight`
 * batches are running and the last one began at least `paceMs` ago; otherwise it waits for that. So an idle system
 * adds no delay, and under load the batch size grows by itself to whatever arrived meanwhile. A batch is cut where its weight
 * passes `maxWeight` (a single heavier item goes alone). `run` settles each item itself by returning one result
 * per item, in order; if it throws, every item of the batch is rejected with that error.
 */
export interface BatcherOptions<Item, Result> {
  run(items: Item[]): Promise<Result[]>;
  weigh?(item: Item): number;
  maxWeight: number;
  maxInFlight: number;
  /** Least time between the starts of two batches. */
  paceMs: number;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #running = new Set<Promise<void>>();
  #waiting: Waiting<Item, Result>[] = [];
  #scheduled = false;
  #lastStart = Number.NEGATIVE_INFINITY;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Waits until nothing is waiting or running. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running.size > 0) {
      if (this.#running.size > 0) await Promise.race(this.#running);
      else await new Promise((resolve) => setTimeout(resolve, this.#options.paceMs));
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#running.size >= this.#options.maxInFlight) return;
    this.#scheduled = true;
    const start = () => {
      this.#scheduled = false;
      this.#startBatches();
    };
    const wait = this.#lastStart + this.#options.paceMs - performance.now();
    if (wait > 0) setTimeout(start, wait);
    else setImmediate(start);
  }

  #startBatches(): void {
    this.#lastStart = performance.now();
    while (this.#waiting.length > 0 && this.#running.size < this.#options.maxInFlight) {
      const running = this.#run(this.#cut()).finally(() => {
        this.#running.delete(running);
        if (this.#waiting.length > 0) this.#schedule();
      });
      this.#running.add(running);
    }
  }

  #cut(): Waiting<Item, Result>[] {
    let weight = 0;
    let count = 0;
    for (const { item } of this.#waiting) {
      weight += this.#options.weigh?.(item) ?? 1;
      if (count > 0 && weight > this.#options.maxWeight) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
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
