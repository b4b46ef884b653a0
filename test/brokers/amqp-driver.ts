import { randomBytes, randomUUID } from 'node:crypto';
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import { brokerFacts } from '../support/brokers/broker.ts';
import {
  evaluate,
  RABBITMQ_USER,
  RABBITMQ_VHOST,
  type RabbitMqFacts,
  RabbitMqServer,
} from '../support/brokers/rabbitmq-server.ts';
import { Relay } from '../support/servers/relay.ts';
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
      refusedReason: 'The broker refused the user name or the password: check auth.',
      publish: (messages) => this.publish(queue, messages),
      depth: () => this.depth(queue),
      held: () => this.count(queue, 'messages_unacknowledged'),
    };
  }

  /** Opens a confirm channel: `publish` waits until the broker has the messages. */
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
    const found = `{ok, Queue} = rabbit_amqqueue:lookup(${queueTerm(queue)})`;
    return Number(await this.evaluate(`${found}, element(2, hd(rabbit_amqqueue:info(Queue, [${column}])))`));
  }

  async exists(queue: string): Promise<boolean> {
    return (await this.evaluate(`rabbit_amqqueue:exists(${queueTerm(queue)})`)) === 'true';
  }

  /** With a password, and what it may configure, write and read in the virtual host. */
  async addUser(user: string, password: string, vhost: string, rights: readonly string[]): Promise<void> {
    const given = rights.map((right) => `<<"${right}">>`).join(', ');
    await this.evaluate(
      `rabbit_auth_backend_internal:add_user(<<"${user}">>, <<"${password}">>, <<"tests">>)`,
    );
    await this.evaluate(
      `rabbit_auth_backend_internal:set_permissions(<<"${user}">>, <<"${vhost}">>, ${given}, <<"tests">>)`,
    );
  }

  /** The routing keys with which the user may write to `amq.topic`. */
  async allowTopics(user: string, vhost: string, keys: string): Promise<void> {
    await this.evaluate(
      `rabbit_auth_backend_internal:set_topic_permissions(<<"${user}">>, <<"${vhost}">>, <<"amq.topic">>, <<"${keys}">>, <<".*">>, <<"tests">>)`,
    );
  }

  /** An Erlang expression, in the server. */
  evaluate(expression: string): Promise<string> {
    return evaluate(this.#facts.control, expression);
  }

  async close(): Promise<void> {
    if (this.#channel !== undefined) await this.#model?.close();
  }
}

const queueTerm = (queue: string): string => `rabbit_misc:r(<<"${RABBITMQ_VHOST}">>, queue, <<"${queue}">>)`;

async function startOwn(): Promise<OwnBroker> {
  const server = await RabbitMqServer.start();
  const relay = await Relay.start(server.ports.plain);
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
