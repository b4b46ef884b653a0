import {
  type BaseOptions,
  type Broker,
  Producer as Client,
  compatibilityPartitioner,
} from '@platformatic/kafka';
import type { Destination, KafkaDestination } from '../../domain/config/destination.ts';
import { Batcher } from '../../platform/batcher.ts';
import { BrokerError } from '../module/broker-module.ts';
import { goodbye } from '../module/goodbye.ts';
import type {
  BrokerMessageOut,
  DestinationModule,
  Producer,
  ProducerContext,
  Receipt,
} from '../module/producer.ts';
import { unlessAborted } from '../module/unless-aborted.ts';
import { guardPool } from './guard-pool.ts';
import { clientOptions, isSecure } from './kafka-client.ts';
import { isAboutMessages, producedIn, produceError } from './produce-error.ts';

/**
 * Kafka as a destination. The producer is idempotent and asks all replicas in sync to confirm, so what it sends again
 * after a lost answer is stored once. Messages that come while a batch of their topic is under way make the next batch.
 * Those without a key go to one partition per batch, in turn, as Kafka's own producer does it.
 *
 * A broker refuses a batch of a partition as a whole. Then its halves are sent, down to the message that it refuses.
 */
const MAX_BATCH_BYTES = 900_000;
/** Headers and the length of each part. */
const OVERHEAD_BYTES = 512;
/** A topic may get more partitions. */
const PARTITIONS_FOR_MS = 30_000;
const ALL_REPLICAS = -1;

type KafkaClient = Client;

export const kafkaDestination: DestinationModule = {
  connectionOf: (destination) => {
    const { brokers, auth } = kafkaOf(destination);
    return { brokers, auth };
  },
  open: async (destination, context) => {
    const settings = kafkaOf(destination);
    const client: KafkaClient = new Client({
      ...(clientOptions(settings, context) as BaseOptions),
      idempotent: true,
      acks: ALL_REPLICAS,
    });
    guardPool(client.connections, context.egress, isSecure(settings));
    const producer = new KafkaProducer(client, context);
    try {
      await unlessAborted(context.signal, client.metadata({ topics: [] }));
      return producer;
    } catch (error) {
      await producer.close();
      throw produceError(error);
    }
  },
};

function kafkaOf(destination: Destination): KafkaDestination {
  if (destination.type !== 'kafka') throw new BrokerError('The settings are not those of Kafka.');
  return destination.kafka;
}

class KafkaProducer implements Producer {
  readonly #client: KafkaClient;
  readonly #log: ProducerContext['log'];
  readonly #topics = new Map<string, Batcher<BrokerMessageOut, Receipt>>();
  readonly #partitions = new Map<string, Partitions>();
  #next = 0;

  constructor(client: KafkaClient, { log }: Pick<ProducerContext, 'log'>) {
    this.#client = client;
    this.#log = log;
  }

  get address(): string | null {
    const leaders = [...this.#partitions.values()].flatMap((topic) => topic.leaders);
    const addresses = new Set(leaders.map((leader) => this.#addressOf(leader)));
    return addresses.size === 1 ? ([...addresses][0] ?? null) : null;
  }

  send(message: BrokerMessageOut): Promise<Receipt> {
    const { topic } = kafkaOf(message.destination);
    let batches = this.#topics.get(topic);
    if (batches === undefined) {
      batches = new Batcher({
        run: (messages) => this.#sendAll(topic, messages),
        weigh: ({ body }) => body.length + OVERHEAD_BYTES,
        maxWeight: MAX_BATCH_BYTES,
        maxInFlight: 1,
        paceMs: 0,
      });
      this.#topics.set(topic, batches);
    }
    return batches.add(message);
  }

  close(): Promise<void> {
    return goodbye(this.#client.close(true), this.#log);
  }

  async #sendAll(topic: string, messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    const { count } = await this.#partitionsOf(topic);
    const unkeyed = this.#next++ % count;
    const placed = messages.map((message) => ({
      message,
      partition:
        message.orderingKey === null
          ? unkeyed
          : compatibilityPartitioner(undefined as never, Buffer.from(message.orderingKey)) % count,
    }));
    const results = new Map<BrokerMessageOut, Promise<Receipt>>();
    await this.#sendPlaced(topic, placed, results);
    return messages.map((message) => results.get(message) as Promise<Receipt>);
  }

  /** One request for each broker. Partitions that refused their part are tried again in halves. */
  async #sendPlaced(
    topic: string,
    placed: readonly Placed[],
    results: Map<BrokerMessageOut, Promise<Receipt>>,
  ): Promise<void> {
    const byPartition = Map.groupBy(placed, ({ partition }) => partition);
    const sent = await this.#request(topic, placed);
    for (const [partition, part] of byPartition) {
      const offset = sent.offsets.get(partition);
      const address = this.#addressOf(this.#partitions.get(topic)?.leaders[partition]);
      if (offset !== undefined) {
        part.forEach(({ message }, n) =>
          results.set(message, Promise.resolve(receipt({ partition, address }, offset, n))),
        );
      } else if (part.length > 1 && isAboutMessages(sent.error)) {
        const half = Math.ceil(part.length / 2);
        await this.#sendPlaced(topic, part.slice(0, half), results);
        await this.#sendPlaced(topic, part.slice(half), results);
      } else {
        const failure = Promise.reject<Receipt>(produceError(sent.error));
        failure.catch(() => undefined);
        for (const { message } of part) results.set(message, failure);
      }
    }
  }

  /** The offset of the first message in each partition that took its part. */
  async #request(
    topic: string,
    placed: readonly Placed[],
  ): Promise<{ offsets: ReadonlyMap<number, bigint>; error: unknown }> {
    try {
      const { offsets = [] } = await this.#client.send({
        messages: placed.map(({ message, partition }) => toRecord(topic, partition, message)),
      });
      return { offsets: new Map(offsets.map((one) => [one.partition, one.offset])), error: null };
    } catch (error) {
      // They are asked for again. Until then they tell the address.
      const known = this.#partitions.get(topic);
      if (known !== undefined) known.untilMs = 0;
      return { offsets: producedIn(error), error };
    }
  }

  /** The address of the broker that leads a partition. */
  #addressOf(leader: Broker | undefined): string | null {
    if (leader === undefined) return null;
    return this.#client.connections.getEstablishedConnection(leader)?.socket.remoteAddress ?? null;
  }

  async #partitionsOf(topic: string): Promise<Partitions> {
    const known = this.#partitions.get(topic);
    if (known !== undefined && known.untilMs > performance.now()) return known;
    try {
      const metadata = await this.#client.metadata({ topics: [topic], autocreateTopics: false });
      const { partitionsCount: count = 0, partitions = [] } = metadata.topics.get(topic) ?? {};
      if (count === 0) throw new BrokerError('The topic does not exist.');
      const leaders = partitions.map(({ leader }) => metadata.brokers.get(leader));
      const found = { count, leaders, untilMs: performance.now() + PARTITIONS_FOR_MS };
      this.#partitions.set(topic, found);
      return found;
    } catch (error) {
      throw produceError(error);
    }
  }
}

interface Partitions {
  count: number;
  /** By partition. */
  leaders: readonly (Broker | undefined)[];
  untilMs: number;
}

interface Placed {
  message: BrokerMessageOut;
  partition: number;
}

const toRecord = (topic: string, partition: number, { headers, body, orderingKey }: BrokerMessageOut) => ({
  topic,
  partition,
  value: body,
  ...(orderingKey !== null && { key: Buffer.from(orderingKey) }),
  headers: new Map(headers.map(([name, value]) => [Buffer.from(name), Buffer.from(value)])),
});

const receipt = (
  { partition, address }: { partition: number; address: string | null },
  first: bigint,
  n: number,
): Receipt => ({
  address,
  facts: { partition: String(partition), offset: String(first + BigInt(n)) },
});
