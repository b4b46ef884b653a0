import { expect } from 'vitest';
import { SECRET_KEY, type TestApp } from '../../support/app.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import type { KafkaPorts } from '../../support/brokers/kafka-server.ts';
import type { RabbitMqFacts } from '../../support/brokers/rabbitmq-server.ts';
import { eventually } from '../../support/eventually.ts';
import { Program } from '../../support/program.ts';
import { AmqpSide, amqpSettings, queueName } from '../amqp-driver.ts';
import { PATIENCE_MS } from '../broker-scene.ts';
import { brokerTests } from '../broker-tests.ts';
import { AmqpTargets } from './amqp-target.ts';
import { Chain } from './chain.ts';
import { DestinationScene, numberOf } from './destination-scene.ts';
import { KafkaTargets } from './kafka-target.ts';

/** The way of messages from broker to broker, and what a message looks like on it. */
let app: TestApp;
let rabbit: RabbitMqFacts;
let kafka: KafkaPorts;

const { check } = brokerTests(
  async () => {
    const [one, other] = [await brokerFacts<RabbitMqFacts>('amqp'), await brokerFacts<KafkaPorts>('kafka')];
    if (typeof one === 'string') return one;
    return typeof other === 'string' ? other : { rabbit: one, kafka: other };
  },
  (given) => {
    app = given.app;
    ({ rabbit, kafka } = given.facts);
  },
);

/** CHAIN_MESSAGES=20000 is the long form. */
const COUNT = Math.ceil(Number(process.env['CHAIN_MESSAGES'] ?? 3_000) / 30) * 30;

check(
  'from Kafka through a filter and a function to RabbitMQ, everything arrives, whatever is killed',
  async () => {
    const chain = await Chain.start();
    const { from, to } = chain;
    const scene = await DestinationScene.on(app);
    const env = {
      DATABASE_URL: app.database.url,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_DATA_DIR: app.dataDir,
      POSTHORN_EGRESS: 'any',
      POSTHORN_ROLES: 'deliver,broker',
      POSTHORN_PORT: '0',
    };
    const start = () => new Program({ args: ['serve'], env });
    let node = start();
    await node.ready();
    try {
      await scene.project.post('/endpoints', chain.endpoint);
      await scene.project.post('/sources', chain.source);
      await chain.publish(0, COUNT / 3);
      await scene.received(to.target, COUNT / 10);
      await to.kill();
      await chain.publish(COUNT / 3, (2 * COUNT) / 3);
      await to.resume();
      await node.kill();
      await from.kill();
      await from.resume();
      node = start();
      await chain.publish((2 * COUNT) / 3, COUNT);
      const wanted = chain.wanted(COUNT);
      const numbers = await scene.receivedNumbers(to.target, wanted.length);
      expect([...new Set(numbers)].toSorted((a, b) => a - b)).toEqual(wanted);
      expect((await to.target.received()).every(({ body }) => body.toString().includes('"seen":true'))).toBe(
        true,
      );
      await scene.succeeded(wanted.length);
      if (COUNT > 3_000) console.log(`${wanted.length} wanted, ${numbers.length} received`);
    } finally {
      await node.kill();
      await chain.stop();
    }
  },
);

check('an event that comes back through the queue of a source ends after five hops', async () => {
  const scene = await DestinationScene.on(app);
  const side = new AmqpSide(rabbit);
  const queue = queueName();
  await (await side.channel()).assertQueue(queue, { durable: true });
  const { amqp } = amqpSettings(rabbit.ports.plain, { exchange: '', routing_key: queue });
  const endpoint = await scene.endpoint({ type: 'amqp', amqp });
  await scene.project.post('/sources', {
    name: 'in',
    type: 'pub_sub',
    pub_sub: amqpSettings(rabbit.ports.plain, { queue }),
    body_function: `function transform(payload) {
      return { endpoint_id: '${endpoint.uid}', event_type: 'loop', data: payload };
    }`,
  });
  await scene.send(endpoint, { n: 1 });
  const events = async () =>
    (await scene.project.get('/events?perPage=100')).content as { status: string; failure_reason: string }[];
  const isLast = ({ status }: { status: string }) => status === 'Failure';
  const all = await eventually(events, (list) => list.some(isLast), PATIENCE_MS);
  expect(all.find(isLast)?.failure_reason).toMatch(/^This event came back to this service 5 times/);
  // The first did not come from a broker, so it has no count.
  expect(all).toHaveLength(7);
  await side.close();
});

// proves Endpoints: cloudevents
check('CloudEvents have the names of their binding, and keys their partition', async () => {
  const scene = await DestinationScene.on(app);
  const inKafka = new KafkaTargets(kafka.plaintext);
  const inRabbit = new AmqpTargets(rabbit);
  try {
    const one = await inKafka.open(kafka);
    const other = await inRabbit.open(rabbit.ports.plain);
    const ordered = { ordering: { key: '$.body.account' } };
    const binary = await scene.endpoint(one.broker, { cloudevents: 'binary' }, ordered);
    const named = await scene.endpoint(other.broker, { cloudevents: 'binary' }, ordered);
    const whole = await scene.endpoint(other.broker, { cloudevents: 'structured' });
    await scene.send(binary, { n: 1, account: 'ä 7' });
    await scene.send(named, { n: 2, account: 'ä 7' });
    const [first] = await scene.received(one, 1);
    expect(first).toMatchObject({ key: 'ä 7', headers: { ce_type: 'made.up', ce_specversion: '1.0' } });
    expect(Object.keys(first?.headers ?? {}).filter((name) => name.startsWith('ce-'))).toEqual([]);
    const [second] = await scene.received(other, 1);
    expect(second).toMatchObject({ key: 'ä 7', headers: { 'cloudEvents:type': 'made.up' } });
    await scene.send(whole, { n: 3 });
    const third = (await scene.received(other, 2))[1];
    expect(third?.headers['content-type']).toContain('application/cloudevents+json');
    expect(JSON.parse(String(third?.body))).toMatchObject({ type: 'made.up', data: { n: 3 } });
    // The routing key is the event type where none is given, and what no queue gets fails with that reason.
    const queue = queueName();
    const channel = await inRabbit.side.channel();
    await channel.assertQueue(queue, { durable: true });
    await channel.bindQueue(queue, 'amq.topic', 'bound.*');
    const routed = inRabbit.reader(queue);
    const { amqp } = amqpSettings(rabbit.ports.plain, { exchange: 'amq.topic' });
    const topical = await scene.endpoint({ type: 'amqp', amqp });
    await scene.send(topical, { n: 4 }, { event_type: 'bound.yes' });
    await eventually(routed, { length: 1 }, PATIENCE_MS);
    expect((await routed()).map(numberOf)).toEqual([4]);
    const attempt = await scene.project.post(`/endpoints/${topical.uid}/test`, undefined, 200);
    expect(attempt.error).toBe(
      'No queue is bound to the exchange amq.topic for the routing key posthorn.test: bind one.',
    );
  } finally {
    await Promise.all([inKafka.close(), inRabbit.close()]);
  }
});
