/**
 * Room that several sharers use. A sharer may have `greed` times as much as it leaves free. So a sharer that is alone
 * fills half of the room with a greed of 1 and three quarters with a greed of 3. However many fill it, the next one
 * finds room. No sharer has more than `mostEach`.
 */
export class SharedRoom {
  readonly #most: number;
  readonly #greed: number;
  readonly #mostEach: number;
  readonly #used = new Map<string, number>();
  #usedByAll = 0;

  constructor(most: number, greed = 1, mostEach = Number.POSITIVE_INFINITY) {
    this.#most = most;
    this.#greed = greed;
    this.#mostEach = mostEach;
  }

  get used(): number {
    return this.#usedByAll;
  }

  usedBy(sharer: string): number {
    return this.#used.get(sharer) ?? 0;
  }

  /** How many more units a sharer may take, one after another. `most`: where only a part of the room may be used. */
  left(sharer: string, most = this.#most): number {
    const free = most - this.#usedByAll;
    const own = this.usedBy(sharer);
    const share = Math.floor((this.#greed * (free + 1) - own) / (this.#greed + 1));
    return Math.max(0, Math.min(share, this.#mostEach - own));
  }

  /** False: there is no room for so much. */
  enter(sharer: string, amount = 1): boolean {
    const free = this.#most - this.#usedByAll;
    const own = this.usedBy(sharer) + amount;
    if (amount > free || own > this.#greed * free || own > this.#mostEach) return false;
    this.take(sharer, amount);
    return true;
  }

  /** Takes room whatever the share of the sharer is. */
  take(sharer: string, amount = 1): void {
    this.#used.set(sharer, this.usedBy(sharer) + amount);
    this.#usedByAll += amount;
  }

  leave(sharer: string, amount = 1): void {
    const own = this.usedBy(sharer) - amount;
    this.#usedByAll -= amount;
    if (own > 0) this.#used.set(sharer, own);
    else this.#used.delete(sharer);
  }
}

/** That of a room for bytes. */
const GREED = 3;

interface Place {
  id: unknown;
  sharer: string;
  bytes: number;
}

/**
 * Bytes that a node has in memory for work under way. A sharer may have `GREED` times as much as it leaves free, so one
 * whose work hangs leaves room to the others. Work without room waits. That of a sharer enters in order.
 *
 * One piece of work at a time may be in excess of the room: one that has waited longest, of a sharer that has none inside.
 * So a large one enters though small ones of other sharers keep the room full, and also if it is larger than the room.
 */
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
