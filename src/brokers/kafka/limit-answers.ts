import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/**
 * The client collects an answer of any length that a broker announces, up to 2 GiB, and has no setting for it. So the
 * lengths are read next to it, on the socket of each connection from its beginning, sign-in included. A connection whose
 * broker announces more than the limit is ended before the answer is in memory.
 */
const CONNECTS = 'tracing:plt:kafka:connections:connects:start';
/** Much more than a fetch asks for. A message that is larger than a fetch comes whole. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const LENGTH_BYTES = 4;

subscribe(CONNECTS, (message) => {
  const { connection } = message as { connection?: { socket?: Socket } };
  // The socket is made in this turn, and connects in a later one.
  queueMicrotask(() => {
    const socket = connection?.socket;
    if (socket !== undefined) limitAnswers(socket);
  });
});

function limitAnswers(socket: Socket): void {
  const lengths = new AnswerLengths(MAX_ANSWER_BYTES);
  socket.on('data', (chunk: Buffer) => {
    // Without an error: during a sign-in the client would throw it where nothing catches it. It goes by the end.
    if (!lengths.areAllowed(chunk)) socket.destroy();
  });
}

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
