import type { ConfirmChannel, Message } from 'amqplib';
import { BrokerError, type Reason } from '../module/broker-error.ts';
import type { BrokerMessageOut } from '../module/producer.ts';
import { amqpError } from './amqp-error.ts';
import type { Publication } from './message-frames.ts';
import { Publisher } from './publisher.ts';
import type { ReadLimit } from './read-limit.ts';

/** The broker closed the channel for one message. */
export class RefusedMessage extends BrokerError {
  /** Others were on the channel, so it may have been one of them. */
  readonly isShared: boolean;

  constructor([code, message]: Reason, isShared: boolean) {
    super(message, { code });
    this.isShared = isShared;
  }
}

const ABOUT_MESSAGE: readonly (readonly [RegExp, Reason])[] = [
  [
    /message size .* (larger than|exceeds)/i,
    ['message_too_large', 'The message is larger than the broker allows.'],
  ],
  [
    /access to topic/i,
    [
      'not_permitted',
      'The user may not write with this routing key: give it the topic permission, or change routing_key.',
    ],
  ],
];
const NOT_FOUND = 404;
const NOT_PERMITTED = 403;

/** The broker names it. */
const FORBIDDEN_KEY = /access to topic '(.*?)' in exchange/s;

interface Waiting {
  message: Publication;
  bytes: number;
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
  readonly #limit: ReadLimit;
  readonly #ended: () => void;
  /** In the order in which they were sent. */
  readonly #waiting = new Set<Waiting>();
  #failure: Error | null = null;

  constructor(channel: ConfirmChannel, { limit, ended }: { limit: ReadLimit; ended(): void }) {
    this.#publisher = new Publisher(channel);
    this.#limit = limit;
    this.#ended = ended;
    channel.on('return', (message: Message) => this.#returned(message));
    channel.on('error', (error: Error) => this.fail(error));
    // If the connection was lost, it says why in the same turn.
    channel.on('close', () => setImmediate(() => this.fail(new BrokerError(CLOSED, CONNECTION_RESET))));
  }

  publish(message: BrokerMessageOut, to: Target): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      const publication = publicationOf(message, to);
      const waiting = {
        message: publication,
        bytes: sizeOf(publication),
        isReturned: false,
        resolve,
        reject,
      };
      const long = longName(publication);
      if (long !== null) return reject(new BrokerError(long, { code: 'message_unfit' }));
      this.#waiting.add(waiting);
      this.#limit.sent(waiting.bytes);
      try {
        this.#publisher.publish(publication, (error) => this.#settle(waiting, error));
      } catch (error) {
        this.#end(waiting);
        reject(new BrokerError(LARGE_HEADERS, { code: 'message_too_large', cause: error }));
      }
    });
  }

  /** Everything that is not confirmed fails. */
  fail(error: Error): void {
    if (this.#failure !== null) return;
    const reason = ABOUT_MESSAGE.find(([pattern]) => pattern.test(error.message))?.[1];
    const refused = FORBIDDEN_KEY.exec(error.message)?.[1];
    const isShared = this.#waiting.size > 1;
    this.#failure = reason === undefined ? channelError(error) : new RefusedMessage(reason, isShared);
    this.#ended();
    this.#limit.channelEnded();
    for (const waiting of this.#waiting) {
      this.#end(waiting);
      const isMeant = reason !== undefined && waiting.message.routingKey === refused;
      waiting.reject(isMeant ? new RefusedMessage(reason, false) : this.#failure);
    }
  }

  /** Whether it waited until now. */
  #end(waiting: Waiting): boolean {
    const hasWaited = this.#waiting.delete(waiting);
    if (hasWaited) this.#limit.settled(waiting.bytes);
    return hasWaited;
  }

  /** A broker may return what was never sent. */
  #returned(returned: Message): void {
    for (const waiting of this.#waiting) {
      if (waiting.isReturned || !isSame(waiting.message, returned)) continue;
      waiting.isReturned = true;
      this.#limit.returned(waiting.bytes);
      return;
    }
  }

  #settle(waiting: Waiting, error: unknown): void {
    // The channel is closed. `fail` follows, with the reason.
    if (error !== null && (error as Error).message !== NACKED) return;
    if (!this.#end(waiting)) return;
    if (error !== null) waiting.reject(new BrokerError(REFUSED, { cause: error }));
    else if (waiting.isReturned)
      waiting.reject(new BrokerError(unroutable(waiting.message), { code: 'unroutable' }));
    else waiting.resolve();
  }
}

/** The words of the library for the answer `basic.nack`. */
const NACKED = 'message nacked';
const REFUSED = 'The broker did not take the message: a queue may be full.';
const CLOSED = 'The broker closed the channel.';
const CONNECTION_RESET = { code: 'connection_reset' } as const;
const LARGE_HEADERS = 'The headers are larger than a frame of the broker.';
/** The exchange, the routing key, the type and so on, of 255 bytes each at most. */
const NAMES_BYTES = 2_048;

/** At most, without a look at each character. */
const sizeOf = ({ headers, body }: Publication): number =>
  headers.reduce((sum, [name, value]) => sum + 3 * (name.length + value.length), body.length + NAMES_BYTES);

const unroutable = ({ exchange, routingKey }: Target): string =>
  exchange === ''
    ? `No queue has the name ${routingKey}: create it, or check routing_key.`
    : `No queue is bound to the exchange ${exchange} for the routing key ${routingKey}: bind one.`;

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
    exchange: to.exchange,
    // It comes back as it was written.
    routingKey: to.routingKey.toWellFormed(),
    messageId: id,
    type: eventType.toWellFormed(),
    contentType: headers.find(([name]) => name === 'content-type')?.[1] ?? 'application/json',
    timestamp: Math.floor(Date.now() / 1000),
    headers:
      orderingKey === null ? headers : [...new Map(headers).set('ordering-key', orderingKey.toWellFormed())],
    body,
  };
}

function channelError(error: Error): Error {
  const { code } = error as { code?: unknown };
  if (error instanceof BrokerError) return error;
  if (code === NOT_FOUND)
    return new BrokerError('The exchange does not exist: create it, or check exchange and vhost.', {
      code: 'target_not_found',
      cause: error,
    });
  if (code === NOT_PERMITTED)
    return new BrokerError('The user may not write to the exchange: give it the permission to write.', {
      code: 'not_permitted',
      cause: error,
    });
  return amqpError(error);
}
