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
