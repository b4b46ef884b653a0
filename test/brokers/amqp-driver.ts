import { randomBytes, randomUUID } from 'node:crypto';
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import { brokerFacts } from '../support/brokers/broker.ts';
import {
  RABBITMQ_USER,
  RABBITMQ_VHOST,
  type RabbitMqFacts,
  RabbitMqServer,
  rabbitmqctl,
} from '../support/brokers/rabbitmq-server.ts';
import { startTcpRelay } from '../support/tcp-relay.ts';
import type { BrokerDriver, OwnBroker, TestMessage, TestQueue } from './broker-driver.ts';

export async function amqpDriver(): Promise<BrokerDriver | string> {
  const facts = await brokerFacts<RabbitMqFacts>('amqp');
  if (typeof facts === 'string') return facts;
  const side = new AmqpSide(facts);
  return { open: () => side.open(facts.ports.plain), startOwn, close: () => side.close() };
}

export const queueName = (): string => `q-${randomBytes(6).toString('hex')}`;

/** `pub_sub` of a source. */
export const amqpSettings = (port: number, amqp: object) => ({
  type: 'amqp',
  workers: 1,
  amqp: { host: '127.0.0.1', port: String(port), vhost: RABBITMQ_VHOST, auth: RABBITMQ_USER, ...amqp },
});

/** The side of those who publish. It connects when it is first used, and again after the broker was away. */
export class AmqpSide {
  readonly #facts: RabbitMqFacts;
  #model: ChannelModel | undefined;
  #channel: ConfirmChannel | undefined;

  constructor(facts: RabbitMqFacts) {
    this.#facts = facts;
  }

  /** `port`: where the service finds it. */
  async open(port: number): Promise<TestQueue> {
    const queue = queueName();
    await (await this.channel()).assertQueue(queue, { durable: true });
    const settings = amqpSettings(port, { queue });
    return {
      settings,
      authenticated: settings,
      refused: amqpSettings(port, { queue, auth: { ...RABBITMQ_USER, password: 'wrong' } }),
      refusedReason: 'The broker refused the user name or the password.',
      publish: (messages) => this.publish(queue, messages),
      depth: () => this.depth(queue),
      held: () => this.count(queue, 'messages_unacknowledged'),
    };
  }

  /** Of the confirming kind: `publish` waits until the broker has the messages. */
  async channel(): Promise<ConfirmChannel> {
    if (this.#channel !== undefined) return this.#channel;
    this.#model = await this.connect();
    this.#channel = await this.#model.createConfirmChannel();
    const forget = () => {
      this.#channel = undefined;
    };
    this.#model.on('error', forget).on('close', forget);
    this.#channel.on('error', forget);
    return this.#channel;
  }

  connect(): Promise<ChannelModel> {
    const { user: username, password } = RABBITMQ_USER;
    const place = { hostname: '127.0.0.1', port: this.#facts.ports.plain, vhost: RABBITMQ_VHOST };
    return connect({ ...place, username, password });
  }

  async publish(
    queue: string,
    messages: readonly TestMessage[],
    properties: (message: TestMessage) => object = () => ({ messageId: randomUUID() }),
  ): Promise<void> {
    const channel = await this.channel();
    for (const message of messages) {
      const { body, headers = {} } = message;
      channel.sendToQueue(queue, Buffer.from(body), { persistent: true, headers, ...properties(message) });
    }
    await channel.waitForConfirms();
  }

  async depth(queue: string): Promise<number> {
    const { messageCount, consumerCount } = await (await this.channel()).checkQueue(queue);
    return consumerCount === 0 ? messageCount : this.count(queue, 'messages');
  }

  /** `messages_unacknowledged` and such. */
  async count(queue: string, column: string): Promise<number> {
    const listed = await this.control(
      'list_queues',
      '-p',
      RABBITMQ_VHOST,
      '--no-table-headers',
      'name',
      column,
    );
    const row = listed.split('\n').find((line) => line.startsWith(`${queue}\t`));
    return Number(row?.split('\t')[1]);
  }

  control(...args: string[]): Promise<string> {
    return rabbitmqctl(this.#facts.control, ...args);
  }

  async close(): Promise<void> {
    if (this.#channel !== undefined) await this.#model?.close();
  }
}

async function startOwn(): Promise<OwnBroker> {
  const relay = await startTcpRelay();
  const server = await RabbitMqServer.start();
  relay.to(server.ports.plain);
  const side = new AmqpSide(server.facts);
  const queue = await side.open(relay.port);
  return {
    queue,
    kill: () => server.kill(),
    resume: () => server.resume(),
    muteService: () => relay.mute(),
    unmuteService: () => relay.unmute(),
    stop: async () => {
      await side.close();
      relay.close();
      await server.stop();
    },
  };
}
