import { SharedRoom } from './shared-room.ts';

/**
 * Bytes that a node has in memory for work under way. A sharer may have `GREED` times as much as it leaves free, so one
 * whose work hangs leaves room to the others. Work without room waits. That of a sharer enters in order.
 *
 * One piece of work at a time may be in excess of the room: one that has waited longest, of a sharer that has none inside.
 * So a large one enters though small ones of other sharers keep the room full, and also if it is larger than the room.
 */
const GREED = 3;

interface Place {
  id: unknown;
  sharer: string;
  bytes: number;
}

export class Room {
  readonly #room: SharedRoom;
  readonly #inside = new Map<unknown, Place>();
  #waiting: (Place & { enter(): void })[] = [];
  /** The one in excess. */
  #excess: Place | undefined;

  constructor(most: number) {
    this.#room = new SharedRoom(most, GREED);
  }

  /** Without the one in excess. */
  get used(): number {
    return this.#room.used;
  }

  /** False: the signal fired before there was room. */
  async enter({ id, sharer }: Omit<Place, 'bytes'>, bytes: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const place = { id, sharer, bytes };
    const isFirst = this.#waiting.every((other) => other.sharer !== sharer);
    if (isFirst && this.#admits(place)) return true;
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        resolve(false);
        this.#callNext();
      };
      const enter = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(true);
      };
      const waiting = { ...place, enter };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** Also of work that is not inside. */
  leave(id: unknown): void {
    const place = this.#inside.get(id);
    if (place === undefined) return;
    this.#inside.delete(id);
    if (place === this.#excess) this.#excess = undefined;
    else this.#room.leave(place.sharer, place.bytes);
    this.#callNext();
  }

  #callNext(): void {
    const blocked = new Set<string>();
    this.#waiting = this.#waiting.filter((next) => {
      if (blocked.has(next.sharer) || !this.#admits(next)) {
        blocked.add(next.sharer);
        return true;
      }
      next.enter();
      return false;
    });
  }

  #admits(place: Place): boolean {
    const { id, sharer, bytes } = place;
    if (bytes <= this.#room.left(sharer)) this.#room.take(sharer, bytes);
    else if (this.#excess === undefined && this.#room.usedBy(sharer) === 0) this.#excess = place;
    else return false;
    this.#inside.set(id, place);
    return true;
  }
}
