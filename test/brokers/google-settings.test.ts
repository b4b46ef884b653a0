import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import { GoogleGate } from '../support/brokers/google-gate.ts';
import type { PubSubPorts } from '../support/brokers/pstest-server.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { BrokerScene, numbered, numberedFrom, PATIENCE_MS, startScene } from './broker-scene.ts';
import { brokerTests, CA_FILE } from './broker-tests.ts';
import { GoogleSide, googleSettings, type MessageFate, queueName, serviceAccount } from './google-driver.ts';

/** Behaviour that only Google Pub/Sub has: service accounts and their rights, leases, attributes. */
const FULL = { rate_limit: 1, rate_limit_duration: 3600 };
const account = serviceAccount('bob@tests.iam.gserviceaccount.com');
const denied = serviceAccount('denied@tests.iam.gserviceaccount.com');

let ports: PubSubPorts;
let direct: string;
let app: TestApp;
let side: GoogleSide;
let gate: GoogleGate;
/** Messages that one node holds from the beginning to the end of this file. */
let longHeld: { name: string; source: Json; scene: BrokerScene; since: number };

const { check } = brokerTests(
  () => brokerFacts<PubSubPorts>('google'),
  async (given) => {
    ({ app, facts: ports } = given);
    direct = `http://127.0.0.1:${ports.grpc}`;
    gate = await GoogleGate.start(ports.grpc, {
      'bob@tests.iam.gserviceaccount.com': { key: account.key, denied: ['GetSubscription'] },
      'denied@tests.iam.gserviceaccount.com': { key: denied.key, denied: ['Pull', 'Acknowledge'] },
    });
    given.closing(gate);
    side = given.closing(new GoogleSide(ports));
    const scene = await BrokerScene.on(app);
    const name = queueName();
    await side.create(name);
    await side.publish(name, numberedFrom(0, 8));
    const source = await scene.source(googleSettings(direct, { subscription_id: name }), FULL);
    const isHeld = (messages: MessageFate[]) => messages.every(({ deliveries }) => deliveries > 0);
    await eventually(() => side.messages(name), isHeld, PATIENCE_MS);
    longHeld = { name, source, scene, since: performance.now() };
  },
);

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

// differs Brokers: Pub/Sub: only key files of the type `service_account`; no server in them is asked. A tenant
//   could call inside.
check('what is wrong is said in plain words, and nothing that a key file names is connected to', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  await side.create(name);
  const trap = await Receiver.start();
  const elsewhere = { type: 'external_account', credential_source: { url: trap.url }, token_url: trap.url };
  const files: [unknown, string][] = [
    ['text', 'The service account is not a key file: it is not a JSON object.'],
    [elsewhere, 'The service account is not a key file of the type service_account.'],
    [{ ...account.file, client_email: 1 }, 'The service account has no client_email or no private_key.'],
    [{ ...account.file, private_key: 'no' }, 'The private_key of the service account cannot be read.'],
  ];
  const refused = 'The broker refused the service account: its key may have been deleted.';
  const other = serviceAccount('eve@tests.iam.gserviceaccount.com');
  const wrong: [object, string][] = [
    ...files.map(([file, reason]): [object, string] => [{ service_account: base64(file) }, reason]),
    [{ service_account: base64({ ...other.file, token_uri: trap.url }) }, refused],
    [{ subscription_id: 'none' }, 'The subscription does not exist: check project_id and subscription_id.'],
    [
      { endpoint: 'http://127.0.0.1:1' },
      'The broker refused the connection: check the address and that it is running.',
    ],
    [{ endpoint: 'pubsub.googleapis.com' }, 'The endpoint is not an http or https URL.'],
  ];
  for (const [google, reason] of wrong) {
    const good = { subscription_id: name, service_account: account.base64 };
    const settings = googleSettings(`https://localhost:${gate.port}`, { ...good, ...google });
    const source = await scene.source(settings, { is_disabled: true });
    expect(await scene.tested(source)).toEqual({ ok: false, reason });
  }
  expect(trap.requests).toEqual([]);
  await trap.stop();
});

check('an account without the right to consume shows that, by test and status', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  await side.create(name);
  const settings = { subscription_id: name, service_account: denied.base64 };
  const source = await scene.source(googleSettings(`https://localhost:${gate.port}`, settings));
  const { reason } = await scene.status(source, 'waiting');
  expect(reason).toContain('The service account has no right to do this.');
  expect((await scene.tested(source)).reason).toContain('The service account has no right to do this.');
  await scene.project.delete(`/sources/${source.uid}`);
});

check(
  'the right to consume is enough; attributes become headers, and the message id comes along',
  async () => {
    const scene = await BrokerScene.on(app);
    const name = queueName();
    await side.create(name);
    const settings = { subscription_id: name, service_account: account.base64 };
    const source = await scene.source(googleSettings(`https://localhost:${gate.port}`, settings));
    const { body, headers } = numbered(1);
    await side.publish(name, [{ body, headers: { ...headers, 'X-Text': 'grün' } }]);
    await scene.waitFor(source, 1);
    await eventually(() => side.depth(name), 0, PATIENCE_MS);
    const [event] = await scene.stored(source);
    const stored = JSON.parse(event?.headers ?? '') as Record<string, unknown>;
    expect(stored).toMatchObject({ 'x-text': ['grün'], 'x-broker-message-id': [expect.stringMatching(/./)] });
    expect((await scene.tested(source)).ok).toBe(true);
    const keys = await app.database.query('select message_id from broker_messages where source_id = $1', [
      source.uid,
    ]);
    expect(keys).toEqual([{ message_id: expect.stringMatching(/^\S+ \d{10}\.\d+$/) }]);
  },
);

// differs Brokers: Pub/Sub: a missing subscription or a lost connection is tried again. In Convoy the source is
//   dead.
check(
  'a subscription that is created later is taken from then on; one that is created again is new',
  async () => {
    const scene = await BrokerScene.on(app);
    const name = queueName();
    const source = await scene.source(googleSettings(direct, { subscription_id: name }));
    expect((await scene.status(source, 'waiting')).reason).toContain('The subscription does not exist');
    await side.create(name);
    await side.publish(name, numberedFrom(0, 5));
    await scene.waitFor(source, 5);
    await side.delete(name);
    await scene.status(source, 'waiting');
    await side.create(name);
    await side.publish(name, numberedFrom(5, 10));
    await scene.waitFor(source, 10);
  },
);

check('a clean stop gives back at once what is held', async () => {
  const own = await startScene({ POSTHORN_ROLES: 'api' });
  const node = await own.addNode({ POSTHORN_ROLES: 'broker' });
  const scene = await BrokerScene.on(own);
  const name = queueName();
  await side.create(name);
  await side.publish(name, numberedFrom(0, 20));
  const source = await scene.source(googleSettings(direct, { subscription_id: name }), FULL);
  const areDelivered = (messages: MessageFate[]) =>
    messages.filter(({ deliveries }) => deliveries > 0).length === 20;
  await eventually(() => side.messages(name), areDelivered, PATIENCE_MS);
  await scene.status(source, 'waiting');
  await node.stop();
  const left = (await side.messages(name)).filter(({ acks }) => acks === 0);
  expect(left.length).toBeGreaterThan(10);
  expect(left.filter(({ givenBack }) => givenBack === 0)).toEqual([]);
  expect(await side.visible(name)).toBe(left.length);
  await own.stop();
});

check('an endpoint obeys the egress rule', async () => {
  const strict = await startScene({
    POSTHORN_EGRESS: 'public',
    POSTHORN_EGRESS_ALLOW: '127.0.0.1/32',
    POSTHORN_CA_FILE: CA_FILE,
  });
  try {
    const scene = await BrokerScene.on(strict);
    const name = queueName();
    await side.create(name);
    const through = (endpoint: string) =>
      googleSettings(endpoint, { subscription_id: name, service_account: account.base64 });
    for (const endpoint of [
      `http://127.0.0.2:${ports.grpc}`,
      `https://127.0.0.2:${gate.port}`,
      `http://[::1]:${ports.grpc}`,
    ]) {
      const blocked = await scene.source(through(endpoint), { is_disabled: true });
      expect((await scene.tested(blocked)).reason).toContain('not allowed by POSTHORN_EGRESS=public');
    }
    for (const host of ['localhost', '127.0.0.1']) {
      const allowed = await scene.source(through(`https://${host}:${gate.port}`), { is_disabled: true });
      expect(await scene.tested(allowed)).toEqual({ ok: true, reason: '' });
    }
  } finally {
    await strict.stop();
  }
});

// differs Brokers: Pub/Sub: a message that cannot be stored now holds up nothing else. In Convoy 1,000 stop the
//   source.
check('messages that wait for us are leased for as long as they wait', async () => {
  const { name, source, scene, since } = longHeld;
  // Longer than the first lease, which the subscription gives.
  const LEASE_MS = 13_000;
  await eventually(async () => performance.now() - since, atLeast(LEASE_MS), PATIENCE_MS);
  expect(await side.visible(name)).toBe(0);
  await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0 });
  await scene.waitFor(source, 8);
  await eventually(() => side.depth(name), 0, PATIENCE_MS);
});
