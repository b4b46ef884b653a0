/**
 * Bytes of messages that all sources of a node may have on their way into the database. Messages that come when it
 * is used up wait in order of arrival; a message larger than the whole goes alone.
 */
export class ByteBudget {
  readonly #most: number;
  readonly #waiting: { bytes: number; enter(): void }[] = [];
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get used(): number {
    return this.#used;
  }

  async enter(bytes: number): Promise<void> {
    if (this.#waiting.length > 0 || !this.#fits(bytes))
      await new Promise<void>((enter) => this.#waiting.push({ bytes, enter }));
    else this.#used += bytes;
  }

  leave(bytes: number): void {
    this.#used -= bytes;
    for (let next = this.#waiting[0]; next !== undefined && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#used += next.bytes;
      next.enter();
    }
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#most;
  }
}
