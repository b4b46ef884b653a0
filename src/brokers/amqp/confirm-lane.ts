import type { ConfirmChannel, Message } from 'amqplib';
import { type BrokerMessageOut, SendFailure } from '../module/producer.ts';
import { amqpError } from './amqp-error.ts';
import type { Publication } from './message-frames.ts';
import { Publisher } from './publisher.ts';

/** The broker closed the channel for a message that is too large. */
export class LargeMessage extends SendFailure {
  /** Others were on the channel, so it may have been one of them. */
  readonly isShared: boolean;

  constructor(isShared: boolean) {
    super('message_too_large', 'The message is larger than the broker allows.');
    this.isShared = isShared;
  }
}

const TOO_LARGE = /message size .* (larger than|exceeds)/i;
const NOT_FOUND = 404;
const REFUSED = 403;

interface Waiting {
  message: Publication;
  /** The broker sent it back. Its confirm follows. */
  isReturned: boolean;
  resolve(): void;
  reject(error: Error): void;
}

interface Target {
  exchange: string;
  routingKey: string;
}

/** A channel on which the broker confirms each message, and returns those that it cannot route. */
export class ConfirmLane {
  readonly #publisher: Publisher;
  readonly #ended: () => void;
  /** In the order in which they were sent. */
  readonly #waiting = new Set<Waiting>();
  #failure: Error | null = null;

  constructor(channel: ConfirmChannel, ended: () => void) {
    this.#publisher = new Publisher(channel);
    this.#ended = ended;
    channel.on('return', (message: Message) => this.#returned(message));
    channel.on('error', (error: Error) => this.fail(error));
    channel.on('close', () =>
      this.fail(new SendFailure('connection_reset', 'The broker closed the channel.')),
    );
  }

  publish(message: BrokerMessageOut, to: Target): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      const waiting = { message: publicationOf(message, to), isReturned: false, resolve, reject };
      const long = longName(waiting.message);
      if (long !== null) return reject(new SendFailure('message_unfit', long));
      this.#waiting.add(waiting);
      try {
        this.#publisher.publish(waiting.message, (error) => this.#settle(waiting, error));
      } catch (error) {
        this.#waiting.delete(waiting);
        reject(
          new SendFailure('message_too_large', 'The headers are larger than a frame of the broker.', {
            cause: error,
          }),
        );
      }
    });
  }

  /** Everything that is not confirmed fails. */
  fail(error: Error): void {
    if (this.#failure !== null) return;
    const isLarge = TOO_LARGE.test(error.message);
    this.#failure = isLarge ? new LargeMessage(this.#waiting.size > 1) : channelError(error);
    this.#ended();
    for (const { reject } of this.#waiting) reject(this.#failure);
    this.#waiting.clear();
  }

  /** A broker may return what was never sent. */
  #returned(returned: Message): void {
    for (const waiting of this.#waiting) {
      if (waiting.isReturned || !isSame(waiting.message, returned)) continue;
      waiting.isReturned = true;
      return;
    }
  }

  #settle(waiting: Waiting, error: unknown): void {
    if (!this.#waiting.delete(waiting)) return;
    if (error !== null && error !== undefined)
      waiting.reject(
        new SendFailure('broker_refused', 'The broker did not take the message: a queue may be full.', {
          cause: error,
        }),
      );
    else if (waiting.isReturned) waiting.reject(new SendFailure('unroutable', unroutable(waiting.message)));
    else waiting.resolve();
  }
}

const unroutable = ({ exchange, routingKey }: Target): string =>
  exchange === ''
    ? `No queue has the name ${routingKey}.`
    : `No queue is bound to the exchange ${exchange} for the routing key ${routingKey}.`;

/**
 * A broker returns a message at once, and confirms an earlier one when it is stored. Endpoints may send messages of one id,
 * so their headers count too: by these an exchange may route the one and not the other.
 */
function isSame(sent: Publication, { properties, fields }: Message): boolean {
  const { messageId, headers = {} } = properties;
  return (
    sent.messageId === messageId &&
    sent.routingKey === fields.routingKey &&
    sent.headers.every(([name, value]) => headers[name] === value)
  );
}

const MAX_NAME_BYTES = 255;

/** The protocol has one byte for the length of a name. */
function longName({ routingKey, type, headers }: Publication): string | null {
  const isLong = (name: string) =>
    name.length * 3 > MAX_NAME_BYTES && Buffer.byteLength(name) > MAX_NAME_BYTES;
  if (isLong(routingKey)) return 'The routing key is longer than 255 bytes.';
  if (isLong(type)) return 'The event type is longer than 255 bytes.';
  const long = headers.find(([name]) => isLong(name));
  return long === undefined
    ? null
    : `The name of the header ${long[0].slice(0, 50)}… is longer than 255 bytes.`;
}

function publicationOf(message: BrokerMessageOut, to: Target): Publication {
  const { id, headers, eventType, orderingKey, body } = message;
  return {
    ...to,
    messageId: id,
    type: eventType,
    contentType: headers.find(([name]) => name === 'content-type')?.[1] ?? 'application/json',
    timestamp: Math.floor(Date.now() / 1000),
    headers: orderingKey === null ? headers : [...new Map(headers).set('ordering-key', orderingKey)],
    body,
  };
}

function channelError(error: Error): Error {
  const { code } = error as { code?: unknown };
  if (error instanceof SendFailure) return error;
  if (code === NOT_FOUND)
    return new SendFailure('target_not_found', 'The exchange does not exist.', { cause: error });
  if (code === REFUSED)
    return new SendFailure('not_permitted', 'The user may not write to the exchange.', { cause: error });
  return amqpError(error);
}
