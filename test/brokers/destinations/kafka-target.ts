import { randomBytes } from 'node:crypto';
import { Consumer } from '@platformatic/kafka';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { KAFKA_USERS, type KafkaPorts, KafkaServer } from '../../support/brokers/kafka-server.ts';
import { happened } from '../../support/eventually.ts';
import { Relay } from '../../support/servers/relay.ts';
import { KafkaSide } from '../kafka-driver.ts';
import {
  behind,
  type DestinationDriver,
  NO_SUCH_NAME,
  type OwnTarget,
  type ReceivedMessage,
  type Target,
  unreachable,
} from './destination-driver.ts';

/** It also holds for a batch: so a batch of small messages can be too large. */
const MAX_TOPIC_BYTES = 20_000;

export async function kafkaTargets(): Promise<DestinationDriver | string> {
  const ports = await brokerFacts<KafkaPorts>('kafka');
  if (typeof ports === 'string') return ports;
  const targets = new KafkaTargets(ports.plaintext);
  return { open: () => targets.open(ports), startOwn, close: () => targets.close() };
}

export class KafkaTargets {
  readonly side: KafkaSide;
  readonly #brokers: string[];
  readonly #consumers: Consumer[] = [];

  constructor(port: number) {
    this.side = new KafkaSide(port);
    this.#brokers = [`127.0.0.1:${port}`];
  }

  async open(ports: KafkaPorts, partitions = 3): Promise<Target> {
    const topic = `t-${randomBytes(6).toString('hex')}`;
    await this.side.createTopic(topic, partitions, { 'max.message.bytes': String(MAX_TOPIC_BYTES) });
    const broker = (kafka: object) => ({
      type: 'kafka',
      kafka: { brokers: [`127.0.0.1:${ports.plaintext}`], topic, ...kafka },
    });
    const [{ scram256, reader }, hidden] = [KAFKA_USERS, `${topic}-hidden`];
    await this.side.createTopic(hidden, 1);
    const compacted = `${topic}-compacted`;
    await this.side.createTopic(compacted, 1, { 'cleanup.policy': 'compact' });
    await this.side.deny(scram256, ['TOPIC', topic, 'WRITE'], ['TOPIC', hidden, 'ALL']);
    await this.side.deny(reader, ['TOPIC', '*', 'WRITE'], ['CLUSTER', 'kafka-cluster', 'IDEMPOTENT_WRITE']);
    const as = (auth: object, more: object = {}) =>
      broker({ brokers: [`127.0.0.1:${ports.sasl}`], auth, ...more });
    const bob = { type: 'scram', hash: 'SHA256', ...scram256 };
    const scram = { type: 'scram', ...KAFKA_USERS.scram512, tls: false };
    return {
      broker: broker({ brokers: [`127.0.0.1:${ports.sasl}`], auth: scram }),
      refused: [
        ...unreachable(broker({ brokers: ['127.0.0.1:1'] }), broker({ brokers: [`${NO_SUCH_NAME}:9092`] })),
        [
          broker({ brokers: [`127.0.0.1:${ports.tls}`] }),
          'tls_failed',
          'The broker wants TLS: set auth.tls.',
        ],
        [
          broker({ auth: { tls: true } }),
          'tls_failed',
          'The broker does not speak TLS on this port: unset auth.tls or use another port.',
        ],
        [
          broker({ brokers: [`127.0.0.1:${ports.sasl}`], auth: { ...scram, password: 'wrong' } }),
          'sign_in_refused',
          'The broker refused the user name or the password: check auth.',
        ],
        [as(bob), 'not_permitted', 'The user may not write to the topic: give it the right Write.'],
        [
          as(bob, { topic: hidden }),
          'not_permitted',
          'The user may not write to the topic: give it the right Write.',
        ],
        [
          as({ type: 'plain', ...reader }),
          'not_permitted',
          'The user may not write to the cluster: give it the right IdempotentWrite.',
        ],
        [
          broker({ topic: 'none' }),
          'target_not_found',
          'The topic does not exist: create it, or check its name.',
        ],
        [
          broker({ topic: compacted }),
          'broker_refused',
          'The broker says that the message breaks a rule of the topic.',
        ],
      ],
      overTls: (host, port) => broker({ brokers: [`${host}:${port}`], auth: { tls: true } }),
      tooLargeBytes: MAX_TOPIC_BYTES,
      received: await this.reader(topic),
    };
  }

  async reader(topic: string): Promise<() => Promise<ReceivedMessage[]>> {
    const consumer = new Consumer({
      clientId: 'tests',
      groupId: `g-${topic}`,
      bootstrapBrokers: this.#brokers,
      autocommit: false,
      retries: 200,
      retryDelay: 250,
      // A connection that the relay froze is given up soon.
      requestTimeout: 3_000,
    });
    this.#consumers.push(consumer);
    const all: ReceivedMessage[] = [];
    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', maxWaitTime: 100 });
    stream.on('error', () => undefined);
    stream.on('data', ({ value, headers, key, partition, offset }) => {
      const named = [...headers].map(([name, text]) => [String(name), String(text)]);
      all.push({
        body: value as Buffer,
        headers: Object.fromEntries(named) as Record<string, string>,
        key: key === undefined || key === null ? null : String(key),
        stored: `${partition} ${offset}`,
      });
      happened();
    });
    return async () => all;
  }

  async close(): Promise<void> {
    await Promise.all(this.#consumers.map((one) => one.close(true).catch(() => undefined)));
    await this.side.close();
  }
}

/** The relay is what the broker advertises, so that every connection of the service goes through it. */
async function startOwn(): Promise<OwnTarget> {
  const relay = await Relay.start();
  const server = await KafkaServer.start({ advertisedPort: relay.port });
  relay.to(server.ports.plaintext);
  const targets = new KafkaTargets(relay.port);
  const target = await targets.open({ ...server.ports, plaintext: relay.port });
  const { kafka } = target.broker as { kafka: object };
  return behind(relay, {
    target: {
      ...target,
      broker: { type: 'kafka', kafka: { ...kafka, brokers: [`127.0.0.1:${relay.port}`], auth: undefined } },
    },
    kill: () => server.kill(),
    resume: () => server.resume(),
    stop: async () => {
      await targets.close();
      await server.stop();
    },
  });
}
