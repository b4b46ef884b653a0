import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { Destinations } from '../../../src/brokers/destinations.ts';
import { HttpClient } from '../../../src/dispatch/client/http-client.ts';
import type { Destination } from '../../../src/domain/config/destination.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { ELSEWHERE, type KafkaPorts } from '../../support/brokers/kafka-server.ts';
import { RABBITMQ_USER, RABBITMQ_VHOST, type RabbitMqFacts } from '../../support/brokers/rabbitmq-server.ts';
import { eventually } from '../../support/eventually.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { Relay } from '../../support/servers/relay.ts';
import { AmqpSide, queueName } from '../amqp-driver.ts';
import { brokerTests } from '../broker-tests.ts';
import { KafkaSide } from '../kafka-driver.ts';

/** The connections to brokers: shared, bounded, closed when idle, replaced with the credentials, and under the egress rule. */
let side: AmqpSide;
let relay: Relay;
let queue: string;
const open: Destinations[] = [];

beforeAll(async () => {
  relay = await Relay.start();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(() => relay.close());

const { check } = brokerTests(
  () => brokerFacts<RabbitMqFacts>('amqp'),
  async ({ facts, closing }) => {
    side = closing(new AmqpSide(facts));
    relay.to(facts.ports.plain);
    queue = queueName();
    await (await side.channel()).assertQueue(queue, { durable: true });
  },
);

function destinations(options: object = {}, egress: 'any' | 'public' = 'any'): Destinations {
  const http = new HttpClient({ egress });
  const made = new Destinations(
    { egress: http.egress, secureContext: () => http.secureContext(), workload: {} as never, log: quietLog },
    options,
  );
  open.push(made);
  return made;
}

const amqp = (fields: object = {}): Destination => ({
  type: 'amqp',
  amqp: {
    schema: 'amqp',
    host: '127.0.0.1',
    port: String(relay.port),
    vhost: RABBITMQ_VHOST,
    auth: RABBITMQ_USER,
    exchange: '',
    routing_key: queue,
    ...fields,
  },
});

const message = (destination: Destination, more: object = {}) => ({
  destination,
  projectId: 'a',
  id: randomBytes(6).toString('hex'),
  eventType: 'made.up',
  headers: [['webhook-id', '1']] as const,
  body: Buffer.from('{}'),
  orderingKey: null,
  isAtMostOnce: false,
  cloudEvents: '' as const,
  timeoutMs: 30_000,
  ...more,
});

const sent = { kind: 'response', isConfirm: true };

check('endpoints with the same connection share one, also for different exchanges', async () => {
  const all = destinations();
  const before = relay.accepted;
  const other = queueName();
  await (await side.channel()).assertQueue(other);
  const ways = [amqp(), amqp(), amqp({ routing_key: other }), amqp({ exchange: 'amq.direct' })];
  const outcomes = await Promise.all(ways.map((one) => all.send(message(one))));
  expect(outcomes.slice(0, 3)).toMatchObject([sent, sent, sent]);
  expect(outcomes[3]).toMatchObject({
    kind: 'error',
    code: 'unroutable',
    message: `No queue is bound to the exchange amq.direct for the routing key ${queue}: bind one.`,
  });
  expect(relay.accepted - before).toBe(1);
  expect(all.size).toBe(1);
});

check('other credentials are another connection, and the old one ends when it is idle', async () => {
  const all = destinations({ idleMs: 50 });
  await side.addUser('bob', 'bobs', RABBITMQ_VHOST, ['.*', '.*', '.*']);
  expect(await all.send(message(amqp()))).toMatchObject(sent);
  const busy = Array.from({ length: 50 }, () => all.send(message(amqp())));
  const bob = await all.send(message(amqp({ auth: { user: 'bob', password: 'bobs' } })));
  expect(bob).toMatchObject(sent);
  expect(await Promise.all(busy)).toMatchObject(busy.map(() => sent));
  await eventually(
    async () => [all.size, relay.open],
    ([links, sockets]) => links === 0 && sockets === 0,
  );
  expect(await all.send(message(amqp()))).toMatchObject(sent);
});

check('the rights of the user are said', async () => {
  await side.addUser('only reads', 'reads', RABBITMQ_VHOST, ['', '', '.*']);
  const outcome = await destinations().send(
    message(amqp({ exchange: 'amq.topic', auth: { user: 'only reads', password: 'reads' } })),
  );
  expect(outcome).toMatchObject({
    kind: 'error',
    code: 'not_permitted',
    message: 'The user may not write to the exchange: give it the permission to write.',
  });
});

check('a routing key that the user may not write with fails its own message', async () => {
  const auth = { user: 'some topics', password: 'topics' };
  await side.addUser(auth.user, auth.password, RABBITMQ_VHOST, ['', '.*', '']);
  await side.allowTopics(auth.user, RABBITMQ_VHOST, `^${queue}`);
  await (await side.channel()).bindQueue(queue, 'amq.topic', `${queue}.*`);
  const to = amqp({ exchange: 'amq.topic', routing_key: '', auth });
  const types = [`${queue}.paid`, 'invoice.paid', `${queue}.sent`, 'invoice.paid', `${queue}.paid`];
  const all = destinations();
  const ends = await Promise.all(types.map((eventType) => all.send(message(to, { eventType }))));
  const refused = {
    code: 'not_permitted',
    message:
      'The user may not write with this routing key: give it the topic permission, or change routing_key.',
  };
  expect(ends).toMatchObject([sent, refused, sent, refused, sent]);
  expect(all.size).toBe(1);
});

check('their number is bounded: an idle one makes room, and else it is a fault of ours', async () => {
  const all = destinations({ maxLinks: 1 });
  expect(await all.send(message(amqp()))).toMatchObject(sent);
  const stop = new AbortController();
  relay.mute();
  const holding = all.send(message(amqp()), stop.signal);
  const other = amqp({ auth: { user: 'bob', password: 'other' } });
  expect(await all.send(message(other))).toMatchObject({ kind: 'error', code: 'local_resource', ours: true });
  stop.abort();
  expect(await holding).toMatchObject({ kind: 'error', code: 'aborted', ours: true });
  relay.unmute();
  expect(await all.send(message(other))).toMatchObject({ kind: 'error', code: 'sign_in_refused' });
  expect(all.size).toBe(0);
});

check('a broker that takes nothing any more is left after the time limit', async () => {
  const all = destinations();
  expect(await all.send(message(amqp()))).toMatchObject(sent);
  relay.mute();
  const frozen = await all.send(message(amqp(), { timeoutMs: 300 }));
  relay.unmute();
  expect(frozen).toMatchObject({
    kind: 'error',
    code: 'timeout',
    message: 'The broker did not confirm the message within 300 ms.',
  });
  expect(await all.send(message(amqp()))).toMatchObject(sent);
});

check('the egress rule holds for the address, and for those that brokers advertise', async () => {
  const blocked = await destinations({}, 'public').send(message(amqp()));
  expect(blocked).toMatchObject({ kind: 'error', code: 'address_blocked' });
  const ports = await brokerFacts<KafkaPorts>('kafka');
  if (typeof ports === 'string') return;
  const kafka = new KafkaSide(ports.plaintext);
  const topic = `t-${randomBytes(6).toString('hex')}`;
  await kafka.createTopic(topic, 1);
  await kafka.close();
  const http = new HttpClient({ egress: 'any', deny: [ELSEWHERE] });
  const some = new Destinations({
    egress: http.egress,
    secureContext: () => http.secureContext(),
    workload: {} as never,
    log: quietLog,
  });
  open.push(some);
  const brokers = [`127.0.0.1:${ports.elsewhere}`];
  const outcome = await some.send(message({ type: 'kafka', kafka: { brokers, topic, auth: null } }));
  expect(outcome).toMatchObject({ kind: 'error', code: 'address_blocked' });
});
