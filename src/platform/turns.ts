import { SharedRoom } from './shared-room.ts';

/**
 * Runs at most `most` pieces of work at a time for all sharers together. A sharer runs as many as it leaves free, so one
 * alone has half of them and the next finds a place at once. Those that wait take turns: one piece of each sharer.
 */
export class Turns {
  readonly #room: SharedRoom;
  /** By sharer, in order of arrival; the sharer that was served last stands last. No list is empty. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(most: number) {
    this.#room = new SharedRoom(most);
  }

  /** How many pieces of a sharer wait. */
  waiting(sharer: string): number {
    return this.#waiting.get(sharer)?.length ?? 0;
  }

  async run<T>(sharer: string, work: () => Promise<T>): Promise<T> {
    if (this.waiting(sharer) > 0 || !this.#room.enter(sharer)) await this.#turn(sharer);
    try {
      return await work();
    } finally {
      this.#room.leave(sharer);
      this.#callNext();
    }
  }

  #turn(sharer: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(sharer) ?? [];
      queue.push(resolve);
      this.#waiting.set(sharer, queue);
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
