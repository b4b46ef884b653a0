import type { ConfirmChannel } from 'amqplib';
import { MessageFrames, type Publication } from './message-frames.ts';

/**
 * Publishes on a channel. Small messages of one turn of the event loop are written together, in frames of our own: 6 us
 * of CPU for a message instead of the 24 us of the library, which encodes and writes each by itself. The library publishes
 * the others, and does all the rest: it connects, and it reads the confirms.
 */
export type Confirm = (error: unknown) => void;

/** Parts of the library's channel that its types do not name. */
interface Channel {
  ch: number;
  /** The number of the first of those that are not confirmed. */
  lwm: number;
  /** In the order of the messages. */
  unconfirmed: Confirm[];
  connection: {
    /** Zero: a frame has no limit. */
    frameMax: number;
    /** For the heartbeats. */
    sentSinceLastCheck: boolean;
    /** By their numbers. A channel that is opened later may have the number of one that is closed. */
    channels: ({ channel: unknown; buffer: NodeJS.WritableStream } | null)[];
  };
}

const MOST_BYTES = 65_536;

export class Publisher {
  readonly #library: ConfirmChannel;
  readonly #channel: Channel;
  readonly #frames: MessageFrames;
  #isPlanned = false;

  constructor(library: ConfirmChannel) {
    this.#library = library;
    this.#channel = library as unknown as Channel;
    const { ch, connection } = this.#channel;
    this.#frames = new MessageFrames(ch, Math.min(connection.frameMax || MOST_BYTES, MOST_BYTES));
    // The library keeps a list up to the number that the broker confirms. An exception ends the connection.
    const check = ({ deliveryTag }: { deliveryTag: number }) => {
      const { lwm, unconfirmed } = this.#channel;
      if (deliveryTag >= lwm + unconfirmed.length)
        throw new Error('The broker confirmed a message that was not sent');
    };
    library.prependListener('ack', check).prependListener('nack', check);
  }

  /** Throws if the headers do not fit into a frame of the broker. */
  publish(message: Publication, confirm: Confirm): void {
    if (!this.#frames.add(message)) {
      this.#flush();
      if (!this.#frames.add(message)) return this.#publishByLibrary(message, confirm);
    }
    this.#channel.unconfirmed.push(confirm);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    const frames = this.#frames.take();
    const { ch, connection } = this.#channel;
    const own = frames.length === 0 ? null : connection.channels[ch];
    if (own?.channel !== this.#library) return;
    connection.sentSinceLastCheck = true;
    own.buffer.write(frames);
  }

  #publishByLibrary({ exchange, routingKey, headers, body, ...about }: Publication, confirm: Confirm): void {
    const options = { ...about, persistent: true, mandatory: true, headers: Object.fromEntries(headers) };
    this.#library.publish(exchange, routingKey, body, options, confirm);
  }
}
