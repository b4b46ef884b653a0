import { expect } from 'vitest';
import { ReadGate } from '../../src/brokers/amqp/read-gate.ts';
import type { TestApp } from '../support/app.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import { RABBITMQ_VHOST, type RabbitMqFacts } from '../support/brokers/rabbitmq-server.ts';
import { eventually } from '../support/eventually.ts';
import { AmqpSide, amqpSettings, queueName } from './amqp-driver.ts';
import {
  BROADCAST,
  BrokerScene,
  numbered,
  numberedFrom,
  PATIENCE_MS,
  range,
  startScene,
} from './broker-scene.ts';
import { brokerTests } from './broker-tests.ts';

/** Behaviour that only AMQP has: schemas, virtual hosts, bindings, dead letters, ids of messages, and what a broker may do. */
let facts: RabbitMqFacts;
let app: TestApp;
let side: AmqpSide;

const { check } = brokerTests(
  () => brokerFacts<RabbitMqFacts>('amqp'),
  (given) => {
    ({ app, facts } = given);
    side = given.closing(new AmqpSide(facts));
  },
);

const settings = (amqp: object) => amqpSettings(facts.ports.plain, amqp);

// differs Brokers: AMQP: `vhost`, `bindExchange` and `auth` may be left out; a password may have any characters.
//   Convoy fails without them.
check('every way in works: TLS, a percent sign in the virtual host, the defaults of the broker', async () => {
  const scene = await BrokerScene.on(app);
  // The default user of a broker, and its default virtual host.
  await side.evaluate('rabbit_vhost:add(<<"/">>, <<"tests">>)');
  await side.addUser('guest', 'guest', '/', ['.*', '.*', '.*']);
  const tls = { schema: 'amqps', host: 'localhost', port: String(facts.ports.tls) };
  const queues = await Promise.all(
    [tls, { vhost: encodeURIComponent(RABBITMQ_VHOST) }].map(async (fields) => {
      const queue = queueName();
      const source = await scene.source(settings({ queue, ...fields }));
      await scene.status(source, 'running');
      await side.publish(queue, [numbered(1)]);
      return source;
    }),
  );
  for (const source of queues) await scene.waitFor(source, 1);
  const { type, workers, amqp } = settings({ queue: queueName(), vhost: undefined, auth: undefined });
  const plain = await scene.source({ type, workers, amqp });
  await scene.status(plain, 'running');
});

// differs Brokers: Each source has its own connection. Changes take effect within seconds. Convoy needs a
//   restart.
check(
  'two sources with equal settings have a connection each, and the end of one leaves the other',
  async () => {
    const scene = await BrokerScene.on(app);
    const queue = queueName();
    const first = await scene.source(settings({ queue }));
    const second = await scene.source(settings({ queue }));
    await scene.status(first, 'running');
    await scene.status(second, 'running');
    const counts = async () => [await scene.count(first), await scene.count(second)] as const;
    await side.publish(queue, numberedFrom(0, 40));
    const [ofFirst, ofSecond] = await eventually(counts, ([one, two]) => one + two === 40, PATIENCE_MS);
    expect(Math.min(ofFirst, ofSecond)).toBeGreaterThan(0);
    await scene.project.delete(`/sources/${first.uid}`);
    await side.publish(queue, numberedFrom(40, 60));
    await eventually(counts, ([one, two]) => one + two === 60, PATIENCE_MS);
    await scene.status(second, 'running');
  },
);

check('what is wrong is said in plain words', async () => {
  const scene = await BrokerScene.on(app);
  await side.addUser('reader', 'secret', RABBITMQ_VHOST, ['^$', '^$', '.*']);
  const queue = queueName();
  const reader = { user: 'reader', password: 'secret' };
  const wrong: [object, string][] = [
    [{ port: '1' }, 'The broker refused the connection: check the address and that it is running.'],
    [
      { vhost: 'none' },
      'The broker refused the virtual host: it does not exist, or the user may not use it.',
    ],
    [
      { port: String(facts.ports.tls) },
      'The broker closed the connection before it was open: it may want TLS (schema amqps), or not speak AMQP 0-9-1.',
    ],
    [{ schema: 'amqps' }, 'The broker does not speak TLS on this port: check the port, or turn TLS off.'],
    [
      { schema: 'amqps', host: '127.0.0.2', port: String(facts.ports.tls) },
      'The broker refused the connection: check the address and that it is running.',
    ],
    [
      { bindExchange: { exchange: 'none', routingKey: 'k' } },
      'The exchange that the queue is to be bound to does not exist.',
    ],
  ];
  for (const [fields, reason] of wrong) {
    const source = await scene.source(settings({ queue, ...fields }), { is_disabled: true });
    expect(await scene.tested(source)).toEqual({ ok: false, reason });
  }
  const unable = await scene.source(settings({ queue, auth: reader }));
  expect((await scene.status(unable, 'waiting')).reason).toBe(
    'The queue does not exist, and the user may not create it.',
  );
  // The test of a connection makes nothing.
  const untouched = await scene.source(settings({ queue: queueName() }), { is_disabled: true });
  expect(await scene.tested(untouched)).toEqual({ ok: true, reason: '' });
  expect(await side.exists(queue)).toBe(false);
  expect(await side.exists(untouched.pub_sub.amqp.queue)).toBe(false);
});

// differs Brokers: AMQP: a queue that exists is taken as it is. In Convoy the source ends.
check('a missing queue is made and bound; one that exists keeps its arguments', async () => {
  const scene = await BrokerScene.on(app);
  const channel = await side.channel();
  const [exchange, made, other] = [queueName(), queueName(), queueName()];
  await channel.assertExchange(exchange, 'topic');
  // Another dead letter exchange than the source names: to declare it again would be refused.
  await channel.assertQueue(other, { durable: true, deadLetterExchange: 'elsewhere', maxLength: 1_000 });
  const bindExchange = { exchange, routingKey: 'orders.*' };
  const sources = await Promise.all(
    [made, other].map((queue) =>
      scene.source(settings({ queue, bindExchange, deadLetterExchange: exchange })),
    ),
  );
  for (const source of sources) await scene.status(source, 'running');
  const { body, headers } = numbered(1);
  channel.publish(exchange, 'orders.paid', Buffer.from(body), { headers, messageId: 'm' });
  channel.publish(exchange, 'invoices.paid', Buffer.from(body), { headers, messageId: 'n' });
  await channel.waitForConfirms();
  for (const source of sources) await scene.waitFor(source, 1);
});

// differs Brokers: AMQP: a message that can never be an event is stored before it is dead-lettered. Convoy may
//   lose it.
check('what can never be an event is stored, and goes to the dead letter exchange', async () => {
  const scene = await BrokerScene.on(app);
  const channel = await side.channel();
  const [exchange, dead, queue] = [queueName(), queueName(), queueName()];
  await channel.assertExchange(exchange, 'fanout');
  await channel.assertQueue(dead);
  await channel.bindQueue(dead, exchange, '');
  const source = await scene.source(settings({ queue, deadLetterExchange: exchange }));
  await scene.status(source, 'running');
  const messages = range(0, 40).map((n) => (n % 3 === 2 ? { body: `bad ${n}` } : numbered(n)));
  await side.publish(queue, messages);
  await scene.waitFor(source, 40);
  await eventually(() => side.depth(queue), 0, PATIENCE_MS);
  const failed = (await scene.stored(source)).filter(({ event_type }) => event_type === 'broker.unreadable');
  expect(failed).toHaveLength(13);
  expect(await side.depth(dead)).toBe(13);
});

check('headers of every type come along, and the id of the message', async () => {
  const scene = await BrokerScene.on(app);
  const queue = queueName();
  const source = await scene.source(settings({ queue }));
  await scene.status(source, 'running');
  const headers = { ...BROADCAST, text: 'a', number: 7, yes: true, bytes: Buffer.from('b'), list: [1, 'c'] };
  await side.publish(queue, [{ body: numbered(1).body }], () => ({ headers, messageId: 'id-1' }));
  await scene.waitFor(source, 1);
  const [event] = await scene.stored(source);
  expect(JSON.parse(event?.headers ?? '')).toMatchObject({
    text: ['a'],
    number: ['7'],
    yes: ['true'],
    bytes: ['b'],
    list: ['[1,"c"]'],
    'x-broker-message-id': ['id-1'],
  });
});

check('an id counts together with its message; without ids the status says what may happen', async () => {
  const scene = await BrokerScene.on(app);
  const queue = queueName();
  const source = await scene.source(settings({ queue, workers: 2 }));
  await scene.status(source, 'running');
  const same = () => ({ messageId: 'same' });
  await side.publish(queue, [numbered(1), numbered(1), numbered(2)], same);
  await scene.waitFor(source, 2);
  expect((await scene.status(source, 'running')).reason).toBe('');
  await side.publish(queue, [numbered(3), numbered(3)], () => ({}));
  await scene.waitFor(source, 4);
  const { reason } = await scene.status(source, 'running', (status) => status.reason !== '');
  expect(reason).toContain('Some messages have no message_id');
});

check('a queue that is deleted, and a connection that an operator closes, are opened again', async () => {
  const scene = await BrokerScene.on(app);
  const queue = queueName();
  const auth = { user: 'operated', password: 'secret' };
  await side.addUser(auth.user, auth.password, RABBITMQ_VHOST, ['.*', '.*', '.*']);
  const source = await scene.source(settings({ queue, auth }));
  await scene.status(source, 'running');
  await side.publish(queue, [numbered(0)]);
  await scene.waitFor(source, 1);
  await (await side.channel()).deleteQueue(queue);
  const hasConsumer = async () => (await side.exists(queue)) && (await side.count(queue, 'consumers')) === 1;
  await eventually(hasConsumer, Boolean, PATIENCE_MS);
  const deleted = await scene.status(source, 'running', ({ last_error: error }) => error !== '');
  expect(deleted.last_error).toMatch(/The (broker ended the consumer: the )?queue was deleted/);
  await side.evaluate(`rabbit_networking:close_all_user_connections(<<"${auth.user}">>, <<"maintenance">>)`);
  const closed = await scene.status(source, 'running', ({ last_error: error }) => !error.includes('queue'));
  expect(closed.last_error).toBe(
    'The broker closed the connection: it is shutting down, or an operator closed it.',
  );
  await side.publish(queue, [numbered(1)]);
  await scene.waitFor(source, 2);
});

check('of large messages few are sent ahead, and all are stored', async () => {
  const scene = await BrokerScene.on(app);
  const queue = queueName();
  await (await side.channel()).assertQueue(queue);
  const text = 'x'.repeat(900_000);
  await side.publish(
    queue,
    range(0, 20).map((n) => numbered(n, { text })),
  );
  const source = await scene.source(settings({ queue }), { rate_limit: 1, rate_limit_duration: 3600 });
  await scene.waitFor(source, 1);
  await scene.status(source, 'waiting');
  // 2 MiB are two of them; the consumer before had one.
  expect(await side.count(queue, 'messages_unacknowledged')).toBeLessThanOrEqual(3);
  // New settings of the connection take effect at once, and the others with it.
  const pub_sub = { ...settings({ queue }), workers: 2 };
  await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0, pub_sub });
  await scene.waitFor(source, 20);
  expect((await scene.numbers(source)).toSorted((a, b) => a - b)).toEqual(range(0, 20));
});

check('reading stops while too many bytes are held, and goes on after that', async () => {
  const queue = queueName();
  await (await side.channel()).assertQueue(queue);
  const body = 'x'.repeat(300_000);
  await side.publish(
    queue,
    range(0, 40).map(() => ({ body })),
  );
  const model = await side.connect();
  const gate = new ReadGate(model, 1_000_000);
  const channel = await model.createChannel();
  let [count, most] = [0, 0];
  const held: number[] = [];
  await channel.prefetch(400);
  await channel.consume(
    queue,
    (message) => {
      const { length } = message?.content ?? [];
      gate.enter(length);
      held.push(length);
      [count, most] = [count + 1, Math.max(most, gate.held)];
    },
    { noAck: true },
  );
  const takeSome = async () => {
    for (const bytes of held.splice(0)) gate.leave(bytes);
    return count;
  };
  await eventually(takeSome, 40, PATIENCE_MS);
  expect(most).toBeLessThanOrEqual(1_200_000);
  gate.remove();
  await model.close();
});

check('the address of the broker obeys the egress rule', async () => {
  const strict = await startScene({ POSTHORN_EGRESS: 'public', POSTHORN_EGRESS_ALLOW: '127.0.0.2/32' });
  try {
    const scene = await BrokerScene.on(strict);
    for (const host of ['127.0.0.1', 'localhost']) {
      const source = await scene.source(settings({ queue: 'q', host }), { is_disabled: true });
      const { ok, reason } = await scene.tested(source);
      expect(ok).toBe(false);
      expect(reason).toContain('is a loopback address, not allowed by POSTHORN_EGRESS=public');
    }
  } finally {
    await strict.stop();
  }
});

check('a broker that refuses publishers for want of memory is read on', async () => {
  const scene = await BrokerScene.on(app);
  const queue = queueName();
  await (await side.channel()).assertQueue(queue);
  await side.publish(queue, numberedFrom(0, 20));
  await side.evaluate('vm_memory_monitor:set_vm_memory_high_watermark(0.000001)');
  try {
    const source = await scene.source(settings({ queue }));
    await scene.waitFor(source, 20);
    // The connection of the publisher gets no answers now.
    await eventually(() => side.count(queue, 'messages'), 0, PATIENCE_MS);
  } finally {
    await side.evaluate('vm_memory_monitor:set_vm_memory_high_watermark(0.4)');
  }
});
