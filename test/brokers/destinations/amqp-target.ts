import type { ChannelModel } from 'amqplib';
import { brokerFacts } from '../../support/brokers/broker.ts';
import {
  RABBITMQ_MAX_BYTES,
  RABBITMQ_USER,
  RABBITMQ_VHOST,
  type RabbitMqFacts,
  RabbitMqServer,
} from '../../support/brokers/rabbitmq-server.ts';
import { happened } from '../../support/eventually.ts';
import { Relay } from '../../support/servers/relay.ts';
import { AmqpSide, queueName } from '../amqp-driver.ts';
import {
  behind,
  type DestinationDriver,
  NO_SUCH_NAME,
  NO_TLS,
  type OwnTarget,
  type ReceivedMessage,
  type Target,
  unreachable,
} from './destination-driver.ts';

export async function amqpTargets(): Promise<DestinationDriver | string> {
  const facts = await brokerFacts<RabbitMqFacts>('amqp');
  if (typeof facts === 'string') return facts;
  const targets = new AmqpTargets(facts);
  return {
    open: () => targets.open(facts.ports.plain),
    startOwn: startOwnRabbit,
    close: () => targets.close(),
  };
}

export class AmqpTargets {
  readonly side: AmqpSide;
  readonly #facts: RabbitMqFacts;
  readonly #readers = new Set<ChannelModel>();
  #isClosed = false;

  constructor(facts: RabbitMqFacts) {
    this.#facts = facts;
    this.side = new AmqpSide(facts);
  }

  /** `port`: where the service finds it. */
  async open(port: number): Promise<Target> {
    const queue = queueName();
    const channel = await this.side.channel();
    await channel.assertQueue(queue, { durable: true });
    const full = `${queue}-full`;
    const takesNothing = { 'x-max-length': 0, 'x-overflow': 'reject-publish' };
    await channel.assertQueue(full, { durable: true, arguments: takesNothing });
    const broker = (amqp: object) => ({
      type: 'amqp',
      amqp: {
        host: '127.0.0.1',
        port: String(port),
        vhost: RABBITMQ_VHOST,
        auth: RABBITMQ_USER,
        exchange: '',
        routing_key: queue,
        ...amqp,
      },
    });
    return {
      broker: broker({}),
      refused: [
        ...unreachable(broker({ port: '1' }), broker({ host: NO_SUCH_NAME })),
        [broker({ schema: 'amqps' }), 'tls_failed', NO_TLS],
        [
          broker({ port: String(this.#facts.ports.tls) }),
          'tls_failed',
          'The broker closed the connection before it was open: it may want TLS (schema amqps), or not speak AMQP 0-9-1.',
        ],
        [
          broker({ auth: { ...RABBITMQ_USER, password: 'wrong' } }),
          'sign_in_refused',
          'The broker refused the user name or the password: check auth.',
        ],
        [
          broker({ vhost: 'none' }),
          'sign_in_refused',
          'The broker refused the virtual host: it does not exist, or the user may not use it.',
        ],
        [
          broker({ exchange: 'none' }),
          'target_not_found',
          'The exchange does not exist: create it, or check exchange and vhost.',
        ],
        [
          broker({ routing_key: 'none' }),
          'unroutable',
          'No queue has the name none: create it, or check routing_key.',
        ],
        [
          broker({ routing_key: full }),
          'broker_refused',
          'The broker did not take the message: a queue may be full.',
        ],
      ],
      overTls: (host, at) => broker({ schema: 'amqps', host, port: String(at) }),
      tooLargeBytes: RABBITMQ_MAX_BYTES + 1,
      received: this.reader(queue),
    };
  }

  /** Reads until the end, again after the broker was away. A message counts when it is acknowledged. */
  reader(queue: string): () => Promise<ReceivedMessage[]> {
    const all: ReceivedMessage[] = [];
    void this.#read(queue, all);
    return async () => all;
  }

  async #read(queue: string, all: ReceivedMessage[]): Promise<void> {
    while (!this.#isClosed) {
      const ended = Promise.withResolvers<void>();
      try {
        const model = await this.side.connect();
        this.#readers.add(model);
        model.on('error', () => undefined).on('close', () => ended.resolve());
        const channel = await model.createChannel();
        channel.on('error', () => ended.resolve());
        await channel.consume(queue, (message) => {
          if (message === null) return ended.resolve();
          const { headers = {} } = message.properties;
          const isSame = (other: ReceivedMessage) => other.headers['webhook-id'] === headers['webhook-id'];
          const earlier = message.fields.redelivered ? all.findLast(isSame) : undefined;
          all.push({
            body: message.content,
            headers: headers as Record<string, string>,
            key: (headers['ordering-key'] as string | undefined) ?? null,
            stored: earlier?.stored ?? String(all.length),
          });
          channel.ack(message);
          happened();
        });
        await ended.promise;
        this.#readers.delete(model);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#readers].map((model) => model.close().catch(() => undefined)));
    await this.side.close().catch(() => undefined);
  }
}

export async function startOwnRabbit(): Promise<OwnTarget> {
  const server = await RabbitMqServer.start();
  const relay = await Relay.start(server.ports.plain);
  const targets = new AmqpTargets(server.facts);
  return behind(relay, {
    target: await targets.open(relay.port),
    kill: () => server.kill(),
    resume: () => server.resume(),
    stop: async () => {
      await targets.close();
      await server.stop();
    },
  });
}
