import type { Readable } from 'node:stream';
import { Consumer, type ConsumerOptions } from '@platformatic/kafka';
import type { KafkaSettings } from '../../domain/config/source.ts';
import type { Logger } from '../../platform/logger.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerModule, ConnectContext, ConsumerContext } from '../module/broker-module.ts';
import { goodbye, runWorkers, unlessAborted } from '../module/until-stopped.ts';
import { guardPool } from './guard-pool.ts';
import { clientOptions, isSecure } from './kafka-client.ts';
import { isRebalance, kafkaError } from './kafka-error.ts';
import { PartitionLots } from './partition-lots.ts';

/**
 * Kafka. Each worker is a member of the consumer group. It takes what one fetch brought, stores it as one lot for each
 * partition, and commits the offsets. The next fetch runs meanwhile, and no further one: so a worker has at most two
 * answers of a broker in memory, of about MAX_FETCH_BYTES each (more only where a single message is larger).
 *
 * A stream is named by the cluster, the id of the topic and the partition: a topic that was deleted and made again has
 * another id, so nothing of it is taken for a repeat. Should the id change under a running worker, it starts again.
 *
 * The classic group protocol: with the newer one the partitions of a killed member stay with it for 45 seconds, which
 * a client cannot change (here SESSION_MS).
 */
const MAX_FETCH_BYTES = 1_048_576;
/** Much more than a fetch asks for. A message that is larger than a fetch comes whole. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const FETCH_WAIT_MS = 1_000;
const SESSION_MS = 15_000;
const HEARTBEAT_MS = 3_000;
const LAG_EVERY_MS = 5_000;
const LATEST = -1n;
const EARLIEST = -2n;
const MADE_AGAIN = 'The topic was deleted and made again.';
/** The client takes no such group id; kafka-go, and so Convoy, uses it where none is given. */
const NO_GROUP = ' ';

export const kafka: BrokerModule<'kafka'> = {
  consume: async ({ kafka: own, workers }, context) => {
    await runWorkers(workers, context.signal, (number, signal) =>
      new Worker(own, { ...context, signal }, number).run(),
    );
  },

  test: async ({ kafka: own }, context) => {
    const { consumer, broken } = connect(own, context);
    const signal = AbortSignal.any([context.signal, broken.signal]);
    try {
      await unlessAborted(signal, readTopic(consumer, own.topic_name));
      await unlessAborted(signal, consumer.findGroupCoordinator());
    } finally {
      await closed(consumer, context.log);
    }
  },

  worded: kafkaError,
};

class Worker {
  readonly #settings: KafkaSettings;
  readonly #context: ConsumerContext;
  readonly #name: string;
  readonly #consumer: Consumer;
  readonly #broken: AbortController;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: KafkaSettings, context: ConsumerContext, number: number) {
    const { consumer, broken } = connect(settings, context);
    this.#settings = settings;
    this.#context = context;
    this.#name = String(number);
    this.#consumer = consumer;
    this.#broken = broken;
  }

  async run(): Promise<void> {
    const { log } = this.#context;
    try {
      await unlessAborted(this.#broken.signal, this.#take());
    } finally {
      clearInterval(this.#timer);
      this.#context.lag(this.#name, null);
      await closed(this.#consumer, log);
    }
  }

  async #take(): Promise<void> {
    const { signal } = this.#context;
    const topic = await unlessAborted(signal, readTopic(this.#consumer, this.#settings.topic_name));
    const { stream, lots } = await unlessAborted(signal, this.#open());
    const stop = () => stream.destroy();
    this.#consumer.on('error', (error: Error) => stream.destroy(error));
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    this.#context.connected();
    this.#timer = setInterval(() => void this.#readLag(), LAG_EVERY_MS);
    await this.#takeAll(lots, topic);
  }

  async #open(): Promise<{ stream: Readable; lots: PartitionLots }> {
    const stream = await this.#consumer.consume({
      topics: [this.#settings.topic_name],
      mode: 'committed',
      fallbackMode: 'earliest',
      maxBytes: MAX_FETCH_BYTES,
      maxBytesPerPartition: MAX_FETCH_BYTES,
      maxWaitTime: FETCH_WAIT_MS,
      // The next fetch begins when everything of the last one has been read.
      highWaterMark: 1,
    });
    guardPool(stream.connections, guardOf(this.#settings, this.#context, this.#broken));
    return { stream, lots: new PartitionLots(stream) };
  }

  async #takeAll(lots: PartitionLots, topic: { name: string; id: string }): Promise<void> {
    const { signal } = this.#context;
    for (;;) {
      const messages = await lots.next();
      if (signal.aborted || messages === null) return;
      // Read after the messages: if they are of a topic that was made again, so is this.
      const now = await readTopic(this.#consumer, topic.name);
      if (now.id !== topic.id) throw new BrokerError(MADE_AGAIN);
      await Promise.all(
        messages.map(({ partition, lot }) =>
          this.#context.store({ stream: `${topic.id}/${partition}`, order: 'ordered' }, lot),
        ),
      );
      await this.#commit(
        messages.map(({ partition, next, leaderEpoch }) => ({ partition, offset: next, leaderEpoch })),
      );
      await this.#checkCommit(
        topic,
        messages.map(({ partition }) => partition),
      );
    }
  }

  /**
   * Offsets are committed by the name of the topic. If it was made again since its messages were read, the offsets of the
   * old topic are now those of the new one, and would have its first messages skipped: so they are set back.
   */
  async #checkCommit(topic: { name: string; id: string }, partitions: readonly number[]): Promise<void> {
    const now = await readTopic(this.#consumer, topic.name, { forceUpdate: true });
    if (now.id === topic.id) return;
    const asked = { topics: [topic.name], partitions: { [topic.name]: [...partitions] } };
    const starts = await this.#consumer.listOffsets({ ...asked, timestamp: EARLIEST });
    const offsets = starts.get(topic.name) ?? [];
    await this.#commit(
      partitions.map((partition) => ({ partition, offset: offsets[partition] ?? 0n, leaderEpoch: -1 })),
    );
    throw new BrokerError(MADE_AGAIN);
  }

  /** Where the partitions went to other members these read the messages again, and find them stored. */
  async #commit(
    offsets: readonly { partition: number; offset: bigint; leaderEpoch: number }[],
  ): Promise<void> {
    const topic = this.#settings.topic_name;
    try {
      await this.#consumer.commit({ offsets: offsets.map((one) => ({ topic, ...one })) });
    } catch (error) {
      if (!isRebalance(error)) throw error;
      this.#context.log.debug({ err: error }, 'Kafka: partitions moved before their offsets were committed');
    }
  }

  async #readLag(): Promise<void> {
    const { topic_name: topic } = this.#settings;
    const partitions = this.#consumer.assignments?.find((one) => one.topic === topic)?.partitions ?? [];
    try {
      if (partitions.length === 0) return this.#context.lag(this.#name, 0);
      const asked = { topics: [topic], partitions: { [topic]: partitions } };
      const [ends, commits] = await Promise.all([
        this.#consumer.listOffsets({ ...asked, timestamp: LATEST }),
        this.#consumer.listCommittedOffsets({ topics: [{ topic, partitions }] }),
      ]);
      const starts = await this.#consumer.listOffsets({ ...asked, timestamp: EARLIEST });
      const lag = partitions.reduce((sum, partition) => {
        const committed = commits.get(topic)?.[partition] ?? -1n;
        const from = committed >= 0n ? committed : (starts.get(topic)?.[partition] ?? 0n);
        return sum + Number((ends.get(topic)?.[partition] ?? from) - from);
      }, 0);
      this.#context.lag(this.#name, lag);
    } catch (error) {
      this.#context.log.debug({ err: error }, 'Kafka: the lag could not be read');
    }
  }
}

/** Leaves the group, so that others get the partitions at once. */
const closed = (consumer: Consumer, log: Logger): Promise<void> => goodbye(consumer.close(true), log);

/** `broken`: the client threw an exception, and may never end what it was doing. */
function connect(
  settings: KafkaSettings,
  context: ConnectContext,
): { consumer: Consumer; broken: AbortController } {
  const broken = new AbortController();
  const limits = {
    maxAnswerBytes: MAX_ANSWER_BYTES,
    broken: (error: Error) => broken.abort(error),
  };
  const options: ConsumerOptions<Buffer, Buffer, Buffer, Buffer> = {
    ...clientOptions(settings, context, limits),
    groupId: settings.consumer_group_id || 'none',
    autocommit: false,
    sessionTimeout: SESSION_MS,
    rebalanceTimeout: SESSION_MS,
    heartbeatInterval: HEARTBEAT_MS,
  };
  const consumer = new Consumer(options);
  // A member that could not join again, also while it is being closed. Without a listener it would end the process.
  consumer.on('error', (error: Error) => context.log.debug({ err: error }, 'Kafka: the consumer failed'));
  if (settings.consumer_group_id === '') consumer.groupId = NO_GROUP;
  guardPool(consumer.connections, guardOf(settings, context, broken));
  return { consumer, broken };
}

const guardOf = (settings: KafkaSettings, { egress }: ConnectContext, broken: AbortController) => ({
  egress,
  isSecure: isSecure(settings),
  broken: (error: Error) => broken.abort(error),
});

/** As the client last saw it, where nothing else is asked for. */
async function readTopic(
  consumer: Consumer,
  name: string,
  options: { forceUpdate?: boolean } = {},
): Promise<{ name: string; id: string }> {
  const metadata = await consumer.metadata({ topics: [name], autocreateTopics: false, ...options });
  const topic = metadata.topics.get(name);
  if (topic === undefined) throw new BrokerError('The topic does not exist: create it, or check its name.');
  return { name, id: `${metadata.id}/${topic.id}` };
}
