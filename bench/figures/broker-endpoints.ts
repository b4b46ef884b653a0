import { setTimeout as pause } from 'node:timers/promises';
import { AmqpSide, queueName } from '../../test/brokers/amqp-driver.ts';
import { KafkaSide } from '../../test/brokers/kafka-driver.ts';
import { KafkaServer } from '../../test/support/brokers/kafka-server.ts';
import { RABBITMQ_USER, RABBITMQ_VHOST, RabbitMqServer } from '../../test/support/brokers/rabbitmq-server.ts';
import { usageOf } from '../cost/process-usage.ts';
import { type Figure, type Sample, Skipped } from '../figure.ts';
import { measureRecorded } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { batched, LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * One load to an HTTP endpoint, to one in Kafka and to one in RabbitMQ, in turns on one service. Events come in calls of
 * 100, so that sending them is most of the work. The brokers store what they confirm and share
 * the machine with the service, so its CPU time per event is compared too.
 */
const BATCH = 100;
/** So that fewer events are under way than the service lets one project have. */
const CONNECTIONS = 8;
const PARTITIONS = 3;
const EMPTYING_MS = 1_000;

/** A receiver, by the type of the events that go to it. */
interface Way {
  eventType: string;
  /** All that it has got so far. */
  received(): Promise<number>;
  /** The process that takes the events. */
  pid: number;
  /** As its consumers would. A deep queue of RabbitMQ took up to 358 us of CPU per message in some runs, instead of 45. */
  empty?(): Promise<void>;
}

interface Ways {
  service: Service;
  http: Way;
  kafka: Way;
  amqp: Way;
}

const NAMES = ['http', 'kafka', 'amqp'] as const;
let rounds = 0;

export const brokerEndpoints: Figure = {
  name: 'broker_endpoints',
  rounds: (plan) => plan.rounds,
  isLong: true,
  run: async (stage) => {
    const ways = await stage.keep('broker endpoints', () => started(stage));
    const first = rounds++ % NAMES.length;
    // Another one begins in each round.
    const inTurn = [...NAMES.slice(first), ...NAMES.slice(0, first)];
    const samples = new Map<string, Sample>();
    for (const name of inTurn) samples.set(name, await measure(stage, ways, name));
    const of = (name: string, key: string) => samples.get(name)?.[key] ?? Number.NaN;
    const sum = (key: string) => [...samples.keys()].reduce((total, name) => total + of(name, key), 0);
    const ratios = (['kafka', 'amqp'] as const).flatMap((name) => [
      [`${name}Ratio`, of(name, 'eventsPerSecond') / of('http', 'eventsPerSecond')],
      [`${name}CpuRatio`, of(name, 'microsService') / of('http', 'microsService')],
    ]);
    const each = [...samples.keys()].flatMap((name) => [
      [`${name}PerSecond`, of(name, 'eventsPerSecond')],
      [`${name}MicrosService`, of(name, 'microsService')],
      [`${name}MicrosDatabase`, of(name, 'microsDatabase')],
      [`${name}MicrosReceiver`, of(name, 'microsReceiver')],
    ]);
    return {
      ...(Object.fromEntries([...each, ...ratios]) as Sample),
      events: sum('events'),
      lost: sum('lost'),
      duplicates: sum('duplicates'),
    };
  },
};

type Name = (typeof NAMES)[number];

async function measure(stage: Stage, { service, ...ways }: Ways, name: Name): Promise<Sample> {
  const { eventType, received, pid, empty } = ways[name];
  await empty?.();
  // The sink begins again with each run.
  const before = name === 'http' ? 0 : await received();
  const usedBefore = usageOf(pid)?.cpuSeconds ?? Number.NaN;
  const { seconds, connections } = stage.plan;
  const load = { seconds, connections: Math.min(CONNECTIONS, connections), batch: BATCH, eventType };
  const sample = await measureRecorded(stage, batched(service), load);
  const used = (usageOf(pid)?.cpuSeconds ?? Number.NaN) - usedBefore;
  const microsReceiver = (used * 1e6) / (sample['events'] as number);
  const missing = (sample['events'] as number) - ((await received()) - before);
  return { ...sample, microsReceiver, lost: Math.max(0, missing), duplicates: Math.max(0, -missing) };
}

async function started(stage: Stage): Promise<{ value: Ways; stop(): Promise<void> }> {
  const { kafka, rabbit } = await servers();
  const { profileDir } = stage.plan;
  const service = await stage.startService(profileDir === undefined ? {} : { profileDir });
  await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
  const [toKafka, toRabbit] = [await kafkaWay(kafka, service), await rabbitWay(rabbit, service)];
  const http = async () => (await stage.sink.call<{ received: number }>('report')).received;
  const value = {
    service,
    http: { eventType: LOAD_EVENT, received: http, pid: stage.sink.pid },
    kafka: toKafka,
    amqp: toRabbit,
  };
  await warmUp(stage, subjectOf(service), LOAD_EVENT);
  for (const name of NAMES) await measure(stage, value, name);
  return {
    value,
    stop: async () => {
      await Promise.all([toKafka.close(), toRabbit.close()]);
      await Promise.all([kafka.stop(), rabbit.stop()]);
    },
  };
}

async function servers(): Promise<{ kafka: KafkaServer; rabbit: RabbitMqServer }> {
  const skip = (error: Error): never => {
    throw new Skipped(error.message);
  };
  const rabbit = await RabbitMqServer.start().catch(skip);
  const kafka = await KafkaServer.start().catch(async (error: Error) => {
    await rabbit.stop();
    return skip(error);
  });
  return { kafka, rabbit };
}

async function kafkaWay(server: KafkaServer, service: Service) {
  const side = new KafkaSide(server.ports.plaintext);
  const topic = 'load';
  await side.createTopic(topic, PARTITIONS);
  const brokers = [`127.0.0.1:${server.ports.plaintext}`];
  const broker = { type: 'kafka', kafka: { brokers, topic } };
  await service.subscribe('', 'load.kafka', { endpoint: { delivery: 'broker', broker } });
  // A group that has read nothing: all that the topic has is before it.
  const received = () => side.depth(topic, 'none', PARTITIONS);
  return { eventType: 'load.kafka', pid: server.pid, received, close: () => side.close() };
}

async function rabbitWay(server: RabbitMqServer, service: Service) {
  const side = new AmqpSide(server.facts);
  const queue = queueName();
  // The kind that RabbitMQ recommends for data that must not be lost. It confirms twice as many a second as a classic one.
  const kind = { 'x-queue-type': 'quorum' };
  const channel = await side.channel();
  await channel.assertQueue(queue, { durable: true, arguments: kind });
  const auth = { vhost: RABBITMQ_VHOST, auth: RABBITMQ_USER };
  const amqp = { host: '127.0.0.1', port: String(server.ports.plain), ...auth, routing_key: queue };
  await service.subscribe('', 'load.amqp', {
    endpoint: { delivery: 'broker', broker: { type: 'amqp', amqp } },
  });
  const received = async () => {
    // The count follows the confirms within moments.
    await pause(200);
    return side.depth(queue);
  };
  const empty = async () => {
    await channel.purgeQueue(queue);
    await pause(EMPTYING_MS);
  };
  return { eventType: 'load.amqp', pid: server.pid, received, empty, close: () => side.close() };
}
