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
  name: string;
  resolve(): void;
  reject(error: Error): void;
}

/** A channel on which the broker confirms each message, and returns those that it cannot route. */
export class ConfirmLane {
  readonly #publisher: Publisher;
  readonly #ended: () => void;
  readonly #waiting = new Set<Waiting>();
  /** How many messages of a name wait, and how many of them came back. Their confirm follows. */
  readonly #named = new Map<string, { waiting: number; returned: number }>();
  #failure: Error | null = null;

  constructor(channel: ConfirmChannel, ended: () => void) {
    this.#publisher = new Publisher(channel);
    this.#ended = ended;
    channel.on('return', (message: Message) => {
      // A broker may return what was never sent.
      const named = this.#named.get(nameOf(message.properties.messageId, message.fields.routingKey));
      if (named !== undefined && named.returned < named.waiting) named.returned += 1;
    });
    channel.on('error', (error: Error) => this.fail(error));
    channel.on('close', () =>
      this.fail(new SendFailure('connection_reset', 'The broker closed the channel.')),
    );
  }

  publish(message: BrokerMessageOut, to: { exchange: string; routingKey: string }): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      const waiting = { name: nameOf(message.id, to.routingKey), resolve, reject };
      const settle = (error: unknown) => this.#settle(waiting, { error, to });
      this.#wait(waiting);
      try {
        this.#publisher.publish(publicationOf(message, to), settle);
      } catch (error) {
        this.#end(waiting);
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
    this.#named.clear();
  }

  #wait(waiting: Waiting): void {
    this.#waiting.add(waiting);
    const named = this.#named.get(waiting.name) ?? { waiting: 0, returned: 0 };
    named.waiting += 1;
    this.#named.set(waiting.name, named);
  }

  /** Whether a message of its name came back. */
  #end(waiting: Waiting): boolean {
    this.#waiting.delete(waiting);
    const named = this.#named.get(waiting.name);
    if (named === undefined) return false;
    const isReturned = named.returned > 0;
    named.waiting -= 1;
    if (isReturned) named.returned -= 1;
    if (named.waiting === 0) this.#named.delete(waiting.name);
    return isReturned;
  }

  #settle(
    waiting: Waiting,
    { error, to }: { error: unknown; to: { exchange: string; routingKey: string } },
  ): void {
    if (!this.#waiting.has(waiting)) return;
    const isReturned = this.#end(waiting);
    if (error !== null && error !== undefined)
      waiting.reject(
        new SendFailure('broker_refused', 'The broker did not take the message: a queue may be full.', {
          cause: error,
        }),
      );
    else if (isReturned) waiting.reject(new SendFailure('unroutable', unroutable(to)));
    else waiting.resolve();
  }
}

const unroutable = ({ exchange, routingKey }: { exchange: string; routingKey: string }): string =>
  exchange === ''
    ? `No queue has the name ${routingKey}.`
    : `No queue is bound to the exchange ${exchange} for the routing key ${routingKey}.`;

const nameOf = (id: unknown, routingKey: string): string => `${String(id)} ${routingKey}`;

function publicationOf(message: BrokerMessageOut, to: { exchange: string; routingKey: string }): Publication {
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
