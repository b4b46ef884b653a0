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
import { startTcpRelay } from '../../support/servers/tcp-relay.ts';
import { AmqpSide, queueName } from '../amqp-driver.ts';
import {
  behind,
  type DestinationDriver,
  NO_SUCH_NAME,
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
  readonly #readers = new Set<ChannelModel>();
  #isClosed = false;

  constructor(facts: RabbitMqFacts) {
    this.side = new AmqpSide(facts);
  }

  /** `port`: where the service finds it. */
  async open(port: number): Promise<Target> {
    const queue = queueName();
    await (await this.side.channel()).assertQueue(queue, { durable: true });
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
        [broker({ schema: 'amqps' }), 'tls_failed', 'The broker does not speak TLS on this port.'],
        [
          broker({ auth: { ...RABBITMQ_USER, password: 'wrong' } }),
          'sign_in_refused',
          'The broker refused the user name or the password.',
        ],
        [
          broker({ vhost: 'none' }),
          'sign_in_refused',
          'The broker refused the virtual host: it does not exist, or the user may not use it.',
        ],
        [broker({ exchange: 'none' }), 'target_not_found', 'The exchange does not exist.'],
        [broker({ routing_key: 'none' }), 'unroutable', 'No queue has the name none.'],
      ],
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
  const relay = await startTcpRelay();
  const server = await RabbitMqServer.start();
  relay.to(server.ports.plain);
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
