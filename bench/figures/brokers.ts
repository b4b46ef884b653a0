import { setTimeout as pause } from 'node:timers/promises';
import { AmqpSide } from '../../test/brokers/amqp-driver.ts';
import { KafkaSide } from '../../test/brokers/kafka-driver.ts';
import { PostgresSide } from '../../test/brokers/postgres-driver.ts';
import { SqsSide } from '../../test/brokers/sqs-driver.ts';
import { ElasticMqServer } from '../../test/support/brokers/elasticmq-server.ts';
import { KafkaServer } from '../../test/support/brokers/kafka-server.ts';
import { PostgresServer } from '../../test/support/brokers/postgres-server.ts';
import { RabbitMqServer } from '../../test/support/brokers/rabbitmq-server.ts';
import { type Figure, type Plan, type Sample, Skipped } from '../figure.ts';
import { arrived } from '../measure.ts';
import { PAYLOAD, RUN, sharedMicros, writeEvent, writeField } from '../payload.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * The events of `end_to_end`, taken from a real broker or from the changes of a database. They all wait there when the
 * source is created. The rate is of those that arrive after the first one, over the time until they are delivered and
 * recorded: joining a consumer group is not measured.
 */
interface Message {
  body: string;
  headers: Record<string, string>;
  part: number;
}

interface Broker {
  /** Stores the payloads as messages or rows. Returns the fields of a source that takes them. */
  fill(payloads: readonly string[]): Promise<object>;
  stop(): Promise<void>;
}

const PARTITIONS = 3;
const CHANGE_EVENT = 'public.load.insert';

const pubSub = (settings: object) => ({ type: 'pub_sub', pub_sub: settings });

async function startKafka(): Promise<Broker> {
  const server = await KafkaServer.start();
  const side = new KafkaSide(server.ports.plaintext);
  return {
    fill: async (payloads) => {
      const { settings, publish } = await side.open(server.ports, PARTITIONS);
      await publish(payloads.map(message));
      return pubSub(settings);
    },
    stop: async () => {
      await side.close();
      await server.stop();
    },
  };
}

async function startAmqp(): Promise<Broker> {
  const server = await RabbitMqServer.start();
  const side = new AmqpSide(server.facts);
  return {
    fill: async (payloads) => {
      const { settings, publish } = await side.open(server.ports.plain);
      await publish(payloads.map(message));
      return pubSub(settings);
    },
    stop: async () => {
      await side.close();
      await server.stop();
    },
  };
}

async function startSqs(): Promise<Broker> {
  const server = await ElasticMqServer.start();
  const side = new SqsSide(server.port);
  return {
    fill: async (payloads) => {
      const { settings, publish } = await side.open({ direct: server.port, gate: server.port });
      await publish(payloads.map(message));
      return pubSub({ ...settings, workers: 4 });
    },
    stop: async () => {
      side.close();
      await server.stop();
    },
  };
}

/** Each payload is the row of a transaction of its own. */
async function startDatabase(): Promise<Broker> {
  const server = await PostgresServer.start();
  const side = new PostgresSide(server.port);
  return {
    fill: async (payloads) => {
      const database = await side.createDatabase();
      const slot_name = `s_${database}`;
      await side.query(
        database,
        `create table waiting (n serial primary key, payload json);
         create table load (n integer primary key, payload json);
         create publication p for table load`,
      );
      await side.query(database, `select pg_create_logical_replication_slot('${slot_name}', 'pgoutput')`);
      await side.query(database, 'insert into waiting (payload) select unnest($1::json[])', [payloads]);
      await side.query(
        database,
        `do $$ declare one record; begin
           for one in select * from waiting order by n loop
             insert into load values (one.n, one.payload);
             commit;
           end loop; end $$`,
      );
      const stream = { slot_name, publication_name: 'p', tables: ['public.load'], snapshot: false };
      return {
        type: 'db_change_stream',
        db_change_stream: { connection_url: side.url(database), ...stream },
      };
    },
    stop: async () => {
      await side.close();
      await server.stop();
    },
  };
}

export const kafka = brokerFigure('kafka', startKafka, ({ brokerEvents }) => brokerEvents);
export const amqp = brokerFigure('amqp', startAmqp, ({ brokerEvents }) => brokerEvents);
/** Its server takes some hundred messages a second. */
export const sqs = brokerFigure('sqs', startSqs, ({ brokerEvents }) => brokerEvents / 5);
export const changeStream = brokerFigure('change_stream', startDatabase, ({ brokerEvents }) => brokerEvents);

function brokerFigure(name: string, start: () => Promise<Broker>, eventsOf: (plan: Plan) => number): Figure {
  return {
    name,
    rounds: ({ rounds }) => Math.min(2, rounds),
    run: async (stage) => {
      const broker = await stage.keep(`broker ${name}`, () => started(start));
      return measure(stage, broker, eventsOf(stage.plan));
    },
  };
}

async function started(start: () => Promise<Broker>): Promise<{ value: Broker; stop(): Promise<void> }> {
  try {
    const value = await start();
    return { value, stop: () => value.stop() };
  } catch (error) {
    throw new Skipped((error as Error).message);
  }
}

async function measure(stage: Stage, broker: Broker, events: number): Promise<Sample> {
  const service = await brokerService(stage);
  const run = await stage.newRun();
  const source = await broker.fill(Array.from({ length: events }, (_, n) => payload(run, n)));
  await service.post('/sources', { name: 'broker', ...source });
  const { distinct: first } = await arrived(stage, (sink) => sink.distinct > 0);
  const startedMs = performance.now();
  const report = await arrived(stage, (sink) => sink.distinct >= events);
  while (!(await service.isIdle())) await pause(10);
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    eventsPerSecond: (report.distinct - first) / seconds,
    events,
    lost: events - report.distinct,
    duplicates: report.received - report.distinct,
  };
}

function brokerService(stage: Stage): Promise<Service> {
  return stage.keep('service with brokers', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await service.subscribe(`${stage.sinkUrl}/change`, CHANGE_EVENT);
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });
}

function payload(run: number, number: number): string {
  const bytes = Buffer.from(PAYLOAD);
  writeField(bytes, 0, RUN, run);
  writeEvent(bytes, 0, { number, dueMicros: sharedMicros() });
  return bytes.toString();
}

function message(data: string, number: number): Message {
  return {
    body: `{"event_type":"${LOAD_EVENT}","data":${data}}`,
    headers: { 'x-convoy-message-type': 'broadcast' },
    part: number % PARTITIONS,
  };
}
