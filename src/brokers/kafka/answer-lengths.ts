const LENGTH_BYTES = 4;

/** Reads the lengths in a stream of answers, each of which begins with its own, whatever its chunks are. */
export class AnswerLengths {
  readonly #most: number;
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  /** Bytes of the length that are known. */
  #known = 0;
  /** Bytes of the answer that are to come. */
  #left = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** False: a length is not allowed. */
  areAllowed(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      const taken = chunk.copy(this.#length, this.#known, at, at + LENGTH_BYTES - this.#known);
      this.#known += taken;
      at += taken;
      if (this.#known < LENGTH_BYTES) continue;
      this.#known = 0;
      this.#left = this.#length.readInt32BE();
      // An answer has at least the number of its request.
      if (this.#left < LENGTH_BYTES || this.#left > this.#most) return false;
    }
    return true;
  }
}
