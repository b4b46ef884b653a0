import type { Socket } from 'node:net';
import type { ChannelModel } from 'amqplib';
import { BrokerError } from '../module/broker-error.ts';

/**
 * Stops reading from the broker while messages of MOST bytes are held. `Prefetch` keeps far below that; it cannot know
 * that after many small messages large ones come. The client has no way to stop reading, so its socket gets one: while
 * the gate is shut, `read` gives nothing.
 *
 * RabbitMQ ends a connection that does not read for 30 s, and its messages come again; by then the prefetch is small.
 * Heartbeats of the broker wait in the socket meanwhile. The client would take it for dead, so the gate notes that bytes came.
 *
 * A broker that never ends a message loses the connection after MAX_MESSAGE_BYTES.
 */
const MAX_MESSAGE_BYTES = 160 * 1_048_576;
const TOO_LARGE = 'The broker sent a message of more than 160 MiB.';

interface Connection {
  stream: Socket;
  recvSinceLastCheck: boolean;
}

export class ReadGate {
  readonly #most: number;
  readonly #connection: Connection;
  #held = 0;
  /** Bytes that came since the last message was complete. */
  #unfinished = 0;
  #isRemoved = false;

  constructor(model: ChannelModel, most: number) {
    this.#most = most;
    this.#connection = model.connection as unknown as Connection;
    const { stream } = this.#connection;
    const read = stream.read.bind(stream);
    stream.read = (size) => (this.#isShut ? null : this.#counted(read(size) as Buffer | null));
    this.#keepAlive();
  }

  get held(): number {
    return this.#held;
  }

  /** A message is complete. */
  enter(bytes: number): void {
    this.#held += bytes;
    this.#unfinished = 0;
  }

  leave(bytes: number): void {
    const wasShut = this.#isShut;
    this.#held -= bytes;
    if (wasShut && !this.#isShut) this.#readOn();
  }

  /** For the end: the answers to it have to be read. */
  remove(): void {
    this.#isRemoved = true;
    this.#readOn();
  }

  get #isShut(): boolean {
    return this.#held >= this.#most && !this.#isRemoved;
  }

  #counted(chunk: Buffer | null): Buffer | null {
    this.#unfinished += chunk?.length ?? 0;
    if (this.#unfinished > MAX_MESSAGE_BYTES) this.#connection.stream.destroy(new BrokerError(TOO_LARGE));
    return chunk;
  }

  #readOn(): void {
    setImmediate(() => this.#connection.stream.emit('readable'));
  }

  #keepAlive(): void {
    const connection = this.#connection;
    let hasCome = connection.recvSinceLastCheck;
    Object.defineProperty(connection, 'recvSinceLastCheck', {
      configurable: true,
      get: () => hasCome || this.#isShut,
      set: (value: boolean) => {
        hasCome = value;
      },
    });
  }
}
