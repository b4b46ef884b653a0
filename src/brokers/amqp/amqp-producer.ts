import type { ChannelModel } from 'amqplib';
import { BrokerError } from '../module/broker-error.ts';
import type { DestinationModule, MessageTo, Producer, ProducerContext, Receipt } from '../module/producer.ts';
import { amqpError } from './amqp-error.ts';
import { ConfirmLane, RefusedMessage } from './confirm-lane.ts';
import { closed, connect, socketOf } from './connect.ts';
import { ReadLimit } from './read-limit.ts';

/**
 * RabbitMQ as a destination. A connection has a channel for each exchange, because the broker closes a channel on which
 * something failed. A message is confirmed when the broker has stored it.
 *
 * One message that the broker refuses closes its channel, and the others of the channel are not confirmed. So each of them
 * is sent again, alone, except those that go at most once.
 */
export const amqpDestination: DestinationModule<'amqp'> = {
  connectionOf: ({ amqp }) => {
    const { exchange: _, routing_key: __, ...connection } = amqp;
    return connection;
  },
  open: async ({ amqp }, context) => new AmqpProducer(await connect(amqp, context), context),
};

const MAY_HAVE_ARRIVED = 'The broker closed the channel for another message. This one was not confirmed.';

export class AmqpProducer implements Producer {
  readonly #model: ChannelModel;
  readonly #context: ProducerContext;
  readonly #lanes = new Map<string, ConfirmLane | Promise<ConfirmLane>>();
  readonly #limit: ReadLimit;
  readonly address: string | null;
  /** Messages that go alone wait for each other. */
  #alone: Promise<unknown> = Promise.resolve();
  #failure: Error | null = null;

  constructor(model: ChannelModel, context: ProducerContext) {
    this.#model = model;
    this.#context = context;
    this.#limit = new ReadLimit(socketOf(model));
    this.address = socketOf(model).remoteAddress ?? null;
    const lost = (error?: Error) => this.#lost(error ?? new Error('closed'));
    model.on('error', lost);
    model.on('close', lost);
  }

  async send(message: MessageTo<'amqp'>): Promise<Receipt> {
    const { exchange } = message.destination.amqp;
    try {
      return await this.#publish(exchange, message);
    } catch (error) {
      if (!(error instanceof RefusedMessage) || !error.isShared) throw error;
      if (message.isAtMostOnce) throw new BrokerError(MAY_HAVE_ARRIVED, { cause: error });
    }
    const alone = this.#alone.then(() => this.#publish(`${exchange} alone`, message));
    this.#alone = alone.catch(() => undefined);
    return alone;
  }

  async #publish(name: string, message: MessageTo<'amqp'>): Promise<Receipt> {
    const { exchange, routing_key } = message.destination.amqp;
    const found = this.#lane(name);
    const lane = found instanceof ConfirmLane ? found : await found;
    // While it waited for its channel, or for others that go alone.
    if (message.limit.isOver) throw new Error('not sent');
    message.limit.begin('connected');
    await lane.publish(message, { exchange, routingKey: routing_key || message.eventType });
    return { address: this.address, facts: { 'message-id': message.id } };
  }

  #lane(name: string): ConfirmLane | Promise<ConfirmLane> {
    if (this.#failure !== null) throw this.#failure;
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const forget = () => this.#lanes.delete(name);
    const opening = this.#model.createConfirmChannel().then(
      (channel) => {
        const lane = new ConfirmLane(channel, { limit: this.#limit, ended: forget });
        this.#lanes.set(name, lane);
        return lane;
      },
      (error: unknown) => {
        forget();
        throw amqpError(error);
      },
    );
    this.#lanes.set(name, opening);
    return opening;
  }

  #lost(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = amqpError(error);
    this.#failLanes(this.#failure);
    this.#context.lost(this.#failure);
  }

  #failLanes(failure: Error): void {
    for (const lane of this.#lanes.values()) if (lane instanceof ConfirmLane) lane.fail(failure);
  }

  async close(): Promise<void> {
    this.#failure ??= new BrokerError('The connection to the broker was closed.', {
      code: 'connection_reset',
    });
    await closed(this.#model, this.#context.log);
    this.#failLanes(this.#failure);
  }
}
