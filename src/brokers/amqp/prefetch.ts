/**
 * How many messages a worker lets the broker send ahead of their acknowledgement. The broker counts messages, not bytes.
 * So the count follows the size of the messages that came lately: together they are PREFETCH_BYTES at most, or it is one
 * message. It starts at one, since nothing is known of the queue.
 */
const MOST = 400;
const PREFETCH_BYTES = 2_097_152;
const STEP = 8;

export class Prefetch {
  #count = 1;
  #largest = 0;

  get count(): number {
    return this.#count;
  }

  /** True if the count changed. It changes by large steps only: a new count is a new consumer. */
  note(sizes: readonly number[]): boolean {
    this.#largest = Math.max(...sizes, this.#largest / 2, 1);
    const fits = Math.floor(PREFETCH_BYTES / this.#largest);
    const wanted = Math.max(1, Math.min(fits, this.#count * STEP, MOST));
    const isFar = wanted >= this.#count * 2 || wanted <= this.#count / 2;
    if (isFar) this.#count = wanted;
    return isFar;
  }
}
