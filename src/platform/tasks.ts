/**
 * Background work, at most `max` tasks at a time, so that a stop can wait for it. A task handles its own
 * errors. One that rejects is a bug, and shows as an unhandled rejection.
 */
export class Tasks {
  readonly #max: number;
  readonly #running = new Set<Promise<void>>();

  constructor(max = Number.POSITIVE_INFINITY) {
    this.#max = max;
  }

  get size(): number {
    return this.#running.size;
  }

  get isFull(): boolean {
    return this.#running.size >= this.#max;
  }

  /** Starts a task. `onLeft` is called when it has ended and left the set. False: the set is full, nothing started. */
  add(start: () => Promise<void>, onLeft?: () => void): boolean {
    if (this.isFull) return false;
    const running = start().finally(() => {
      this.#running.delete(running);
      onLeft?.();
    });
    this.#running.add(running);
    return true;
  }

  /** Resolves when no task runs. It also waits for tasks that are added in the meantime. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
