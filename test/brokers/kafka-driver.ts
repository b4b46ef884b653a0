import { randomBytes } from 'node:crypto';
import {
  type AclOperationLabel,
  AclOperations,
  AclPermissionTypes,
  Admin,
  Consumer,
  Producer,
  ResourcePatternTypes,
  ResourceTypes,
} from '@platformatic/kafka';
import { brokerFacts } from '../support/brokers/broker.ts';
import { KAFKA_USERS, type KafkaPorts, KafkaServer } from '../support/brokers/kafka-server.ts';
import { Relay } from '../support/servers/relay.ts';
import type { BrokerDriver, OwnBroker, TestMessage, TestQueue } from './broker-driver.ts';

const client = { clientId: 'tests', retries: 20, retryDelay: 250 };

export async function kafkaDriver(): Promise<BrokerDriver | string> {
  const ports = await brokerFacts<KafkaPorts>('kafka');
  if (typeof ports === 'string') return ports;
  const side = new KafkaSide(ports.plaintext);
  return {
    open: (parts = 1) => side.open(ports, parts),
    startOwn: startOwnKafka,
    close: () => side.close(),
  };
}

/** The side of those who publish. */
export class KafkaSide {
  readonly #brokers: string[];
  readonly #admin: Admin;
  readonly #producer: Producer;

  constructor(port: number) {
    this.#brokers = [`127.0.0.1:${port}`];
    this.#admin = new Admin({ ...client, bootstrapBrokers: this.#brokers });
    // Without idempotence the producer itself repeats messages when it meets a new topic.
    this.#producer = new Producer({ ...client, bootstrapBrokers: this.#brokers, idempotent: true });
  }

  async open(ports: KafkaPorts, parts: number): Promise<TestQueue> {
    const topic = `t-${randomBytes(6).toString('hex')}`;
    const group = `g-${topic}`;
    await this.createTopic(topic, parts);
    const settings = (port: number, auth?: object) => ({
      type: 'kafka',
      workers: 1,
      kafka: {
        brokers: [`127.0.0.1:${port}`],
        topic_name: topic,
        consumer_group_id: group,
        ...(auth !== undefined && { auth }),
      },
    });
    const scram = { type: 'scram', ...KAFKA_USERS.scram512, tls: false };
    return {
      settings: settings(ports.plaintext),
      authenticated: settings(ports.sasl, scram),
      refused: settings(ports.sasl, { ...scram, password: 'wrong' }),
      refusedReason: 'The broker refused the user name or the password: check auth.',
      publish: (messages) => this.publish(topic, messages),
      depth: () => this.depth(topic, group, parts),
    };
  }

  async createTopic(
    topic: string,
    partitions: number,
    settings: Record<string, string> = { 'max.message.bytes': '20000000' },
  ): Promise<void> {
    const configs = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await this.#admin.createTopics({ topics: [topic], partitions, replicas: 1, configs });
  }

  async deleteTopic(topic: string): Promise<void> {
    await this.#admin.deleteTopics({ topics: [topic] });
  }

  /** `rights`: on what, its name, and what the user may not do. The others may do all, as they may without an ACL. */
  async deny(
    { username }: { username: string },
    ...rights: ['TOPIC' | 'CLUSTER', name: string, AclOperationLabel][]
  ): Promise<void> {
    const everyone = { principal: 'User:*', operation: AclOperations.ALL };
    const creations = rights.flatMap(([type, resourceName, operation]) => {
      const resource = {
        resourceType: ResourceTypes[type],
        resourceName,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        host: '*',
      };
      const user = { principal: `User:${username}`, operation: AclOperations[operation] };
      return [
        { ...resource, ...everyone, permissionType: AclPermissionTypes.ALLOW },
        { ...resource, ...user, permissionType: AclPermissionTypes.DENY },
      ];
    });
    await this.#admin.createAcls({ creations });
  }

  async publish(topic: string, messages: readonly TestMessage[]): Promise<void> {
    const CHUNK = 500;
    for (let from = 0; from < messages.length; from += CHUNK) {
      await this.#producer.send({
        acks: -1,
        messages: messages.slice(from, from + CHUNK).map(({ body, headers = {}, part = 0 }) => ({
          topic,
          partition: part,
          value: Buffer.from(body),
          headers: new Map(
            Object.entries(headers).map(([name, value]) => [Buffer.from(name), Buffer.from(value)]),
          ),
        })),
      });
    }
  }

  async depth(topic: string, group: string, partitions: number): Promise<number> {
    const consumer = new Consumer({ ...client, bootstrapBrokers: this.#brokers, groupId: 'any' });
    consumer.groupId = group;
    try {
      const numbers = Array.from({ length: partitions }, (_, number) => number);
      const ends = await consumer.listOffsets({ topics: [topic], timestamp: -1n });
      const commits = await consumer.listCommittedOffsets({ topics: [{ topic, partitions: numbers }] });
      return numbers.reduce((sum, number) => {
        const committed = commits.get(topic)?.[number] ?? -1n;
        return sum + Number((ends.get(topic)?.[number] ?? 0n) - (committed < 0n ? 0n : committed));
      }, 0);
    } finally {
      await consumer.close(true);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#admin.close(), this.#producer.close()]);
  }
}

/** The relay is what the broker advertises, so that every connection of the service goes through it. */
export async function startOwnKafka(): Promise<OwnBroker> {
  const relay = await Relay.start();
  const server = await KafkaServer.start({ advertisedPort: relay.port });
  relay.to(server.ports.plaintext);
  const side = new KafkaSide(relay.port);
  const queue = await side.open({ ...server.ports, plaintext: relay.port }, 3);
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
