import { setTimeout as pause } from 'node:timers/promises';
import { KafkaSide } from '../../test/brokers/kafka-driver.ts';
import { KafkaServer } from '../../test/support/brokers/kafka-server.ts';
import { type Figure, Skipped } from '../figure.ts';
import { arrived } from '../measure.ts';
import { PAYLOAD, RUN, sharedMicros, writeEvent, writeField } from '../payload.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * The events of `end_to_end`, taken from Kafka. They all wait there when the source is created. The rate is of those that
 * arrive after the first one, over the time until they are delivered and recorded: joining a consumer group is not
 * measured.
 */
const PARTITIONS = 3;

export const kafka: Figure = {
  name: 'kafka',
  rounds: ({ rounds }) => Math.ceil(rounds / 2),
  isLong: true,
  run: async (stage) => {
    const server = await kafkaServer(stage);
    const service = await brokerService(stage);
    const run = await stage.newRun();
    const events = stage.plan.brokerEvents;
    const side = new KafkaSide(server.ports.plaintext);
    const { settings, publish } = await side.open(server.ports, PARTITIONS);
    await publish(Array.from({ length: events }, (_, n) => message(run, n)));
    await side.close();
    await service.post('/sources', { name: 'broker', type: 'pub_sub', pub_sub: settings });
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
  },
};

const kafkaServer = (stage: Stage): Promise<KafkaServer> =>
  stage.keep('kafka', async () => {
    const value = await KafkaServer.start().catch((error: Error) => {
      throw new Skipped(error.message);
    });
    return { value, stop: () => value.stop() };
  });

const brokerService = (stage: Stage): Promise<Service> =>
  stage.keep('service with brokers', async () => {
    const service = await stage.startService();
    await service.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    await warmUp(stage, subjectOf(service), LOAD_EVENT);
    return { value: service };
  });

function message(run: number, number: number) {
  const bytes = Buffer.from(PAYLOAD);
  writeField(bytes, 0, RUN, run);
  writeEvent(bytes, 0, { number, dueMicros: sharedMicros() });
  return {
    body: `{"event_type":"${LOAD_EVENT}","data":${bytes.toString()}}`,
    headers: { 'x-convoy-message-type': 'broadcast' },
    part: number % PARTITIONS,
  };
}
