import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import { ELSEWHERE, KAFKA_USERS, type KafkaPorts } from '../support/brokers/kafka-server.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { BrokerScene, numbered, numberedFrom, PATIENCE_MS, range, startScene } from './broker-scene.ts';
import { brokerTests } from './broker-tests.ts';
import { KafkaSide } from './kafka-driver.ts';

/** Behaviour that only Kafka has: its ways in, groups, topics, and the addresses that it advertises. */
let ports: KafkaPorts;
let app: TestApp;
let side: KafkaSide;

const { check } = brokerTests(
  () => brokerFacts<KafkaPorts>('kafka'),
  (given) => {
    ({ app, facts: ports } = given);
    side = given.closing(new KafkaSide(ports.plaintext));
  },
);

const name = () => `t-${randomBytes(6).toString('hex')}`;

const settings = (kafka: object) => ({ type: 'kafka', workers: 1, kafka });

// differs Brokers: Kafka: TLS works without SASL. No reason to refuse it.
check('every way in works: PLAIN, SCRAM with both hashes, TLS with and without them', async () => {
  const scene = await BrokerScene.on(app);
  const topic = name();
  await side.createTopic(topic, 1);
  const { plain, scram256, scram512 } = KAFKA_USERS;
  const ways: [keyof KafkaPorts, object][] = [
    ['sasl', { type: 'plain', ...plain }],
    ['sasl', { type: 'scram', hash: 'SHA256', ...scram256 }],
    ['sasl', { type: 'scram', hash: 'SHA512', ...scram512 }],
    ['tls', { type: '', tls: true }],
    ['saslTls', { type: 'plain', ...plain, tls: true }],
    ['saslTls', { type: 'scram', ...scram512, tls: true }],
  ];
  const sources = await Promise.all(
    ways.map(([way, auth]) =>
      scene.source(
        settings({
          brokers: [`localhost:${ports[way]}`],
          topic_name: topic,
          consumer_group_id: name(),
          auth,
        }),
      ),
    ),
  );
  await side.publish(topic, [numbered(1)]);
  for (const source of sources) await scene.waitFor(source, 1);
});

check('what is wrong is said in plain words', async () => {
  const scene = await BrokerScene.on(app);
  const topic = name();
  await side.createTopic(topic, 1);
  const wrong: [object, string][] = [
    [
      { brokers: ['127.0.0.1:1'] },
      'The broker refused the connection: check the address and that it is running.',
    ],
    [{ brokers: [`127.0.0.1:${ports.tls}`] }, 'The broker wants TLS: set auth.tls.'],
    [
      { brokers: [`127.0.0.1:${ports.plaintext}`], auth: { tls: true } },
      'The broker does not speak TLS on this port: unset auth.tls or use another port.',
    ],
    [
      { brokers: [`127.0.0.1:${ports.sasl}`] },
      'The broker closed the connection: it may want authentication or TLS.',
    ],
    [
      { brokers: [`127.0.0.1:${ports.plaintext}`], topic_name: 'none' },
      'The topic does not exist: create it, or check its name.',
    ],
  ];
  for (const [kafka, reason] of wrong) {
    const source = await scene.source(settings({ topic_name: topic, ...kafka }), { is_disabled: true });
    expect(await scene.tested(source)).toEqual({ ok: false, reason });
  }
});

check(
  'a topic that is created later is taken from then on, without a group id in the group of one space',
  async () => {
    const scene = await BrokerScene.on(app);
    const topic = name();
    const source = await scene.source(
      settings({ brokers: [`127.0.0.1:${ports.plaintext}`], topic_name: topic }),
    );
    expect((await scene.status(source, 'waiting')).reason).toBe(
      'The topic does not exist: create it, or check its name.',
    );
    await side.createTopic(topic, 1);
    await side.publish(topic, [numbered(1)]);
    await scene.waitFor(source, 1);
    await eventually(() => side.depth(topic, ' ', 1), 0, PATIENCE_MS);
  },
);

check('nothing of a topic that was deleted and made again is taken for a repeat', async () => {
  const scene = await BrokerScene.on(app);
  const topic = name();
  await side.createTopic(topic, 1);
  const kafka = { brokers: [`127.0.0.1:${ports.plaintext}`], topic_name: topic, consumer_group_id: name() };
  const source = await scene.source(settings(kafka));
  await side.publish(topic, numberedFrom(0, 10));
  await scene.waitFor(source, 10);
  await side.deleteTopic(topic);
  await scene.status(source, 'waiting');
  await side.createTopic(topic, 1);
  await side.publish(topic, numberedFrom(10, 15));
  await scene.waitFor(source, 15);
  expect(await scene.numbers(source)).toEqual(range(0, 15));
});

check('the order of a partition is kept while partitions move from node to node', async () => {
  const [PARTS, ROUNDS, EACH] = [4, 6, 120];
  const fleet = await startScene();
  try {
    const scene = await BrokerScene.on(fleet);
    const topic = name();
    await side.createTopic(topic, PARTS);
    const kafka = { brokers: [`127.0.0.1:${ports.plaintext}`], topic_name: topic, consumer_group_id: name() };
    const source = await scene.source(settings(kafka));
    await scene.status(source, 'running');
    const nodes: Awaited<ReturnType<TestApp['addNode']>>[] = [];
    for (const round of range(0, ROUNDS)) {
      const publishing = side.publish(
        topic,
        range(round * EACH, (round + 1) * EACH).map((n) => ({ ...numbered(n), part: n % PARTS })),
      );
      // Each member that comes or goes has the partitions shared out again.
      if (round < ROUNDS / 2) nodes.push(await fleet.addNode());
      else await nodes.pop()?.stop();
      await publishing;
    }
    await scene.waitFor(source, ROUNDS * EACH);
    const numbers = await scene.numbers(source);
    for (const part of range(0, PARTS)) {
      const own = numbers.filter((n) => n % PARTS === part);
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
    expect(numbers.toSorted((a, b) => a - b)).toEqual(range(0, ROUNDS * EACH));
  } finally {
    await fleet.stop();
  }
});

check('an address that the broker advertises obeys the egress rule', async () => {
  const strict = await startScene({ POSTHORN_EGRESS: 'public', POSTHORN_EGRESS_ALLOW: '127.0.0.1/32' });
  try {
    const scene = await BrokerScene.on(strict);
    const blocked = `${ELSEWHERE} is a loopback address, not allowed by POSTHORN_EGRESS=public`;
    for (const [way, auth] of [
      ['plaintext', undefined],
      ['tls', { tls: true }],
    ] as const) {
      const kafka = { brokers: [`${ELSEWHERE}:${ports[way]}`], topic_name: 't', ...(auth && { auth }) };
      const direct = await scene.source(settings(kafka), { is_disabled: true });
      expect((await scene.tested(direct)).reason).toContain(blocked);
    }
    const topic = name();
    await side.createTopic(topic, 1);
    const brokers = [`127.0.0.1:${ports.elsewhere}`];
    const source = await scene.source(settings({ brokers, topic_name: topic }));
    expect((await scene.status(source, 'waiting')).reason).toContain(ELSEWHERE);
  } finally {
    await strict.stop();
  }
});

check('a topic that is made again between storing and committing is read from its beginning', async () => {
  const scene = await BrokerScene.on(app);
  const topic = name();
  await side.createTopic(topic, 1);
  const kafka = { brokers: [`127.0.0.1:${ports.plaintext}`], topic_name: topic, consumer_group_id: name() };
  const source = await scene.source(settings(kafka));
  await side.publish(topic, [numbered(0)]);
  await scene.waitFor(source, 1);
  // The lot waits here after its events are written, and before it is committed.
  const holder = await app.app.db.dedicated();
  await holder.query('begin; lock table broker_positions in exclusive mode');
  await side.publish(topic, numberedFrom(1, 10));
  // Other tests share the server.
  const waits = async () =>
    app.database.query(
      `select from pg_locks where not granted and
       database = (select oid from pg_database where datname = current_database())`,
    );
  await eventually(waits, { length: atLeast(1) }, PATIENCE_MS);
  await side.deleteTopic(topic);
  const create = () =>
    side.createTopic(topic, 1).then(
      () => true,
      () => false,
    );
  await eventually(create, Boolean, PATIENCE_MS);
  const publish = () =>
    side.publish(topic, [numbered(10)]).then(
      () => true,
      () => false,
    );
  await eventually(publish, Boolean, PATIENCE_MS);
  await side.publish(topic, numberedFrom(11, 30));
  await holder.query('commit');
  await holder.end();
  await scene.waitFor(source, 30);
  expect(await scene.numbers(source)).toEqual(range(0, 30));
});
