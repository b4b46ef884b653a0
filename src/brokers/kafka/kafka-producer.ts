import {
  type BaseOptions,
  type Broker,
  Producer as Client,
  compatibilityPartitioner,
} from '@platformatic/kafka';
import { BrokerError } from '../module/broker-error.ts';
import { messageBatches, notSent } from '../module/message-batches.ts';
import type {
  BrokerMessageOut,
  DestinationModule,
  Producer,
  ProducerContext,
  Receipt,
} from '../module/producer.ts';
import { goodbye, unlessAborted } from '../module/until-stopped.ts';
import { guardPool } from './guard-pool.ts';
import { clientOptions, isSecure } from './kafka-client.ts';
import { ProduceFailure, produceError } from './produce-error.ts';

/**
 * Kafka as a destination. The producer is idempotent and asks all replicas in sync to confirm, so what it sends again
 * after a lost answer is stored once. Messages that come while a batch is under way make the next batch. Those without a
 * key go to one partition per batch, in turn, as Kafka's own producer does it.
 *
 * Each topic has a client of its own, and one request at a time. The client counts the messages of each partition, by which
 * the broker knows repeats, and begins again after any failure: a message to another topic could get a number that was used.
 *
 * A broker refuses the part of a partition as a whole. Then its halves are sent, down to the message that it refuses.
 */
const MAX_BATCH_BYTES = 900_000;
/** Headers and the length of each part. */
const OVERHEAD_BYTES = 512;
/** A topic may get more partitions. */
const PARTITIONS_FOR_MS = 30_000;
const ALL_REPLICAS = -1;
/** The longest are about partitions, 30 bytes for each. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

type KafkaClient = Client;

export const kafkaDestination: DestinationModule<'kafka'> = {
  connectionOf: ({ kafka }) => kafka,
  open: async ({ kafka: settings }, context) => {
    const limits = { maxAnswerBytes: MAX_ANSWER_BYTES, broken: context.lost };
    const client: KafkaClient = new Client({
      ...(clientOptions(settings, context, limits) as BaseOptions),
      idempotent: true,
      acks: ALL_REPLICAS,
    });
    guardPool(client.connections, {
      egress: context.egress,
      isSecure: isSecure(settings),
      broken: context.lost,
    });
    const producer = new KafkaProducer(client, settings.topic, context);
    try {
      await unlessAborted(context.signal, client.metadata({ topics: [], retries: 0 }));
      return producer;
    } catch (error) {
      await producer.close();
      throw produceError(error);
    }
  },
};

class KafkaProducer implements Producer {
  readonly #client: KafkaClient;
  readonly #topic: string;
  readonly #log: ProducerContext['log'];
  readonly #batches = messageBatches({
    send: (messages) => this.#sendAll(messages),
    weigh: ({ body }) => body.length + OVERHEAD_BYTES,
    maxWeight: MAX_BATCH_BYTES,
    maxInFlight: 1,
  });
  #partitions: Partitions = { count: 0, leaders: [], untilMs: 0 };
  #next = 0;

  constructor(client: KafkaClient, topic: string, { log }: Pick<ProducerContext, 'log'>) {
    this.#client = client;
    this.#topic = topic;
    this.#log = log;
  }

  get address(): string | null {
    const addresses = new Set(this.#partitions.leaders.map((leader) => this.#addressOf(leader)));
    return addresses.size === 1 ? ([...addresses][0] ?? null) : null;
  }

  send(message: BrokerMessageOut): Promise<Receipt> {
    return this.#batches.add(message);
  }

  close(): Promise<void> {
    return goodbye(this.#client.close(true), this.#log);
  }

  async #sendAll(messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    const { count } = await this.#readPartitions();
    const unkeyed = this.#next++ % count;
    const placed = messages.map((message) => ({
      message,
      partition:
        message.orderingKey === null
          ? unkeyed
          : compatibilityPartitioner(undefined as never, Buffer.from(message.orderingKey)) % count,
    }));
    const results: Results = new Map();
    for (const part of requestsOf(placed)) await this.#sendPlaced(part, results);
    return messages.map((message) => results.get(message) as Promise<Receipt>);
  }

  /** One request for each broker. Partitions that refused their part are tried again in halves. */
  async #sendPlaced(placed: readonly Placed[], results: Results): Promise<void> {
    const { open = [], over = [] } = Object.groupBy(placed, ({ message }) =>
      message.limit.isOver ? 'over' : 'open',
    );
    for (const { message } of over) results.set(message, notSent());
    if (open.length === 0) return;
    const { offsets, failure } = await this.#request(open);
    for (const [partition, part] of Map.groupBy(open, (one) => one.partition)) {
      const first = offsets.get(partition);
      if (first !== undefined || failure === null) {
        const place = { partition, first, address: this.#addressOf(this.#partitions.leaders[partition]) };
        part.forEach(({ message }, n) => results.set(message, Promise.resolve(receipt(place, n))));
      } else if (part.length > 1 && failure.isAboutMessages(partition)) {
        const half = Math.ceil(part.length / 2);
        await this.#sendPlaced(part.slice(0, half), results);
        await this.#sendPlaced(part.slice(half), results);
      } else {
        const failed = Promise.reject<Receipt>(failure.reasonOf(partition));
        failed.catch(() => undefined);
        for (const { message } of part) results.set(message, failed);
      }
    }
  }

  /** The offset of the first message in each partition that took its part. */
  async #request(placed: readonly Placed[]): Promise<{
    offsets: ReadonlyMap<number, bigint>;
    failure: ProduceFailure | null;
  }> {
    try {
      // The client connects again by itself after a lost answer.
      for (const { message } of placed) message.limit.begin('connected');
      const { offsets = [] } = await this.#client.send({
        messages: placed.map((one) => toRecord(this.#topic, one)),
      });
      const confirmed = new Map(offsets.map((one) => [one.partition, one.offset]));
      if (!placed.every(({ partition }) => confirmed.has(this.#sentTo(partition))))
        throw new BrokerError('The broker did not confirm each partition.');
      return { offsets: confirmed, failure: null };
    } catch (error) {
      // They are asked for again. Until then they tell the address.
      this.#partitions.untilMs = 0;
      const failure = new ProduceFailure(error);
      return { offsets: failure.offsets, failure };
    }
  }

  /** The client sends to another partition if the topic was made again with fewer. */
  #sentTo(partition: number): number {
    const { partitionsCount: count } = this.#client.currentMetadata?.topics.get(this.#topic) ?? {};
    return count === undefined ? partition : partition % count;
  }

  /** The address of the broker that leads a partition. */
  #addressOf(leader: Broker | undefined): string | null {
    if (leader === undefined) return null;
    return this.#client.connections.getEstablishedConnection(leader)?.socket.remoteAddress ?? null;
  }

  async #readPartitions(): Promise<Partitions> {
    if (this.#partitions.untilMs > performance.now()) return this.#partitions;
    const topic = this.#topic;
    try {
      const metadata = await this.#client.metadata({ topics: [topic], autocreateTopics: false });
      const { partitionsCount: count = 0, partitions = [] } = metadata.topics.get(topic) ?? {};
      if (count === 0)
        throw new BrokerError('The topic does not exist: create it, or check its name.', {
          code: 'target_not_found',
        });
      // They are listed by their numbers: one large number would make a list of any length.
      if (partitions.length !== count)
        throw new BrokerError('The broker does not number the partitions of the topic one by one.');
      const leaders = partitions.map(({ leader }) => metadata.brokers.get(leader));
      this.#partitions = { count, leaders, untilMs: performance.now() + PARTITIONS_FOR_MS };
      return this.#partitions;
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

type Results = Map<BrokerMessageOut, Promise<Receipt>>;

/**
 * The client sends a request again as a whole if the broker has forgotten it for one of its partitions. So those that go at
 * most once have a request for each partition.
 */
function requestsOf(placed: readonly Placed[]): Placed[][] {
  const { often = [], once = [] } = Object.groupBy(placed, ({ message }) =>
    message.isAtMostOnce ? 'once' : 'often',
  );
  const single = Map.groupBy(once, ({ partition }) => partition).values();
  return [often, ...single].filter(({ length }) => length > 0);
}

const toRecord = (topic: string, { partition, message: { headers, body, orderingKey } }: Placed) => ({
  topic,
  partition,
  value: body,
  ...(orderingKey !== null && { key: Buffer.from(orderingKey) }),
  headers: new Map(headers.map(([name, value]) => [Buffer.from(name), Buffer.from(value)])),
});

interface Place {
  address: string | null;
  partition: number;
  /** The offset of the first message. Undefined: the topic was made again with other partitions meanwhile. */
  first: bigint | undefined;
}

const receipt = ({ address, partition, first }: Place, n: number): Receipt => ({
  address,
  facts: first === undefined ? {} : { partition: String(partition), offset: String(first + BigInt(n)) },
});
