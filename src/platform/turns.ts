import { SharedRoom } from './shared-room.ts';

/**
 * Runs at most `most` pieces of work at a time for all sharers together, and at most `mostEach` of a sharer. A sharer runs
 * as many as it leaves free, so one alone has half of them and the next finds a place at once. Those that wait take turns:
 * one piece of each sharer.
 */
export class Turns {
  readonly #room: SharedRoom;
  /** By sharer, in order of arrival; the sharer that was served last stands last. No list is empty. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(most: number, mostEach?: number) {
    this.#room = new SharedRoom(most, 1, mostEach);
  }

  /** How many pieces of a sharer wait. */
  waiting(sharer: string): number {
    return this.#waiting.get(sharer)?.length ?? 0;
  }

  async run<T>(sharer: string, work: () => Promise<T>): Promise<T> {
    if (!this.#enter(sharer)) await new Promise<void>((resolve) => this.#queue(sharer, resolve));
    return this.#work(sharer, work);
  }

  /** As `run`. Undefined: the signal fired before the turn came, and the work does not run. */
  async runBefore<T>(signal: AbortSignal, sharer: string, work: () => Promise<T>): Promise<T | undefined> {
    if (signal.aborted) return undefined;
    if (this.#enter(sharer) || (await this.#turnBefore(signal, sharer))) return this.#work(sharer, work);
    return undefined;
  }

  #enter(sharer: string): boolean {
    return this.waiting(sharer) === 0 && this.#room.enter(sharer);
  }

  async #work<T>(sharer: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.#room.leave(sharer);
      this.#callNext();
    }
  }

  #queue(sharer: string, call: () => void): void {
    const queue = this.#waiting.get(sharer) ?? [];
    queue.push(call);
    this.#waiting.set(sharer, queue);
  }

  #turnBefore(signal: AbortSignal, sharer: string): Promise<boolean> {
    return new Promise((resolve) => {
      const call = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        const left = (this.#waiting.get(sharer) ?? []).filter((other) => other !== call);
        if (left.length > 0) this.#waiting.set(sharer, left);
        else this.#waiting.delete(sharer);
        resolve(false);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#queue(sharer, call);
    });
  }

  /**
   * Takes the place of a piece before it calls it, so that no other can take it first. A sharer that was served is met
   * again at the end of the map: the loop ends when each that waits was refused a place.
   */
  #callNext(): void {
    for (const [sharer, queue] of this.#waiting) {
      if (!this.#room.enter(sharer)) continue;
      const call = queue.shift() as () => void;
      this.#waiting.delete(sharer);
      if (queue.length > 0) this.#waiting.set(sharer, queue);
      call();
    }
  }
}
