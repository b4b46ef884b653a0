import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import { SqsGate } from '../support/brokers/sqs-gate.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import {
  BROADCAST,
  BrokerScene,
  numbered,
  numberedFrom,
  PATIENCE_MS,
  range,
  startScene,
} from './broker-scene.ts';
import { brokerTests, CA_FILE } from './broker-tests.ts';
import { queueName, SQS_KEY, SqsSide, sqsSettings } from './sqs-driver.ts';

/** Behaviour that only SQS has: keys and rights, visibility, groups, attributes. */
const FULL = { rate_limit: 1, rate_limit_duration: 3600 };

let port: number;
let app: TestApp;
let side: SqsSide;
let gate: SqsGate;
/** Messages that one node holds from the beginning to the end of this file, and others that it cannot delete. */
let longHeld: Waiting;
let undeleted: Waiting;

interface Waiting {
  name: string;
  url: string;
  source: Json;
  scene: BrokerScene;
  since: number;
}

const { check, checkAtOnce } = brokerTests(
  () => brokerFacts<{ port: number }>('sqs'),
  async (given) => {
    app = given.app;
    port = given.facts.port;
    gate = await SqsGate.start(port, {
      [SQS_KEY.id]: { secret: SQS_KEY.secret },
      NORECEIVE: { secret: 's', denied: ['ReceiveMessage'] },
      NODELETE: { secret: 's', denied: ['DeleteMessageBatch'] },
    });
    given.closing(gate);
    side = given.closing(new SqsSide(port));
    longHeld = await begin({}, FULL);
    undeleted = await begin({ access_key_id: 'NODELETE', secret_key: 's' });
  },
);

/** A source with eight messages, which it holds. */
async function begin(sqs: object, limit: object = {}): Promise<Waiting> {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  const url = await side.create(name);
  await side.publish(url, numberedFrom(0, 8));
  const source = await scene.source(sqsSettings(gate.port, { queue_name: name, ...sqs }), limit);
  await eventually(() => side.counts(url), { held: 8 }, PATIENCE_MS);
  return { name, url, source, scene, since: performance.now() };
}

check('what is wrong is said in plain words', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  await side.create(name);
  const key = 'The broker refused the access key: check access_key_id and secret_key.';
  const wrong: [object, string][] = [
    [{ access_key_id: 'NOBODY' }, key],
    [{ secret_key: 'wrong' }, key],
    [{ queue_name: 'none' }, 'The queue does not exist: check queue_name and default_region.'],
    [
      { endpoint: 'http://127.0.0.1:1' },
      'The broker refused the connection: check the address and that it is running.',
    ],
    [{ endpoint: 'sqs.example.com' }, 'The endpoint is not an http or https URL.'],
    [
      { endpoint: `https://127.0.0.1:${port}` },
      'The broker does not speak TLS on this port: check the port, or turn TLS off.',
    ],
  ];
  for (const [sqs, reason] of wrong) {
    const settings = sqsSettings(gate.port, { queue_name: name, ...sqs });
    const source = await scene.source(settings, { is_disabled: true });
    expect(await scene.tested(source)).toEqual({ ok: false, reason });
  }
});

check('a key without a right shows which, and no hot loop follows', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  await side.create(name);
  const settings = { queue_name: name, access_key_id: 'NORECEIVE', secret_key: 's' };
  const before = gate.actions.length;
  const source = await scene.source(sqsSettings(gate.port, settings));
  const { reason } = await scene.status(source, 'waiting');
  expect(reason).toContain('The access key has no right to do this.');
  expect(reason).toContain('sqs:ReceiveMessage');
  const lookups = () => gate.actions.slice(before).filter((action) => action === 'GetQueueUrl').length;
  await eventually(async () => lookups(), atLeast(3), PATIENCE_MS);
  expect((await scene.status(source, 'waiting')).last_error).toBe(reason);
  await scene.project.delete(`/sources/${source.uid}`);
});

// differs Brokers: SQS: a queue that is missing at the start is taken later. In Convoy the source is dead.
check('a queue that is created later is taken from then on; one that is created again is new', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  const source = await scene.source(sqsSettings(port, { queue_name: name }));
  expect((await scene.status(source, 'waiting')).reason).toContain('The queue does not exist');
  const url = await side.create(name);
  await side.publish(url, numberedFrom(0, 5));
  await scene.waitFor(source, 5);
  await scene.status(source, 'running');
  await side.delete(url);
  await scene.status(source, 'waiting');
  await side.create(name);
  await side.publish(url, numberedFrom(5, 10));
  await scene.waitFor(source, 10);
  const streams = await app.database.query(
    'select distinct stream from broker_messages where source_id = $1',
    [source.uid],
  );
  expect(streams).toHaveLength(2);
});

// differs Brokers: SQS: attributes of bytes become headers in base64. Convoy fails for ever.
check('attributes become headers, text, numbers and bytes, and the message id comes along', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  const url = await side.create(name);
  const source = await scene.source(sqsSettings(port, { queue_name: name }));
  await side.publish(url, [
    {
      ...numbered(1),
      attributes: {
        'X-Text': { DataType: 'String', StringValue: 'grün' },
        'X-Number': { DataType: 'Number', StringValue: '12.5' },
        'X-Bytes': { DataType: 'Binary', BinaryValue: Buffer.from([0, 255, 1]) },
        'X-Custom': { DataType: 'Binary.png', BinaryValue: Buffer.from([7]) },
      },
    },
    numbered(2),
  ]);
  await scene.waitFor(source, 2);
  const events = await scene.stored(source);
  const headers = events.map((event) => JSON.parse(event.headers) as Record<string, unknown>);
  const full = headers.find((one) => 'x-text' in one);
  expect(full).toMatchObject({
    'x-text': ['grün'],
    'x-number': ['12.5'],
    'x-bytes': ['AP8B'],
    'x-custom': ['Bw=='],
    'x-convoy-message-type': [BROADCAST['x-convoy-message-type']],
  });
  expect(full?.['x-broker-message-id']).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
});

// differs Brokers: SQS: up to 50 messages at a time, long polling of 20 s. Convoy takes one a second.
check(
  'a clean stop gives back at once what is held, and the lag of a queue is not counted per node',
  async () => {
    const own = await startScene({ POSTHORN_ROLES: 'api' });
    const nodes = await Promise.all([
      own.addNode({ POSTHORN_ROLES: 'broker' }),
      own.addNode({ POSTHORN_ROLES: 'broker' }),
    ]);
    const scene = await BrokerScene.on(own);
    const name = queueName();
    const url = await side.create(name);
    await side.publish(url, numberedFrom(0, 300));
    const source = await scene.source(sqsSettings(port, { queue_name: name }), FULL);
    // Each of the nodes holds two lots.
    await eventually(() => side.counts(url), { held: atLeast(150) }, PATIENCE_MS);
    const read = async () => (await scene.project.get(`/sources/${source.uid}`)).status as Json;
    await eventually(read, ({ lag }) => lag !== null, PATIENCE_MS);
    expect((await read()).lag).toBeLessThanOrEqual(300);
    for (const node of nodes) await node.stop();
    const stored = await scene.count(source);
    const { held, visible } = await side.counts(url);
    expect(held).toBe(0);
    expect(visible).toBeGreaterThanOrEqual(300 - stored);
    await own.stop();
  },
);

check('a deletion that fails is tried again', async () => {
  const scene = await BrokerScene.on(app);
  const name = queueName();
  const url = await side.create(name);
  gate.failingDeletes = 1;
  const source = await scene.source(sqsSettings(gate.port, { queue_name: name }));
  await side.publish(url, [numbered(1)]);
  await scene.waitFor(source, 1);
  await eventually(() => side.depth(url), 0, PATIENCE_MS);
  expect(gate.actions.filter((action) => action === 'DeleteMessageBatch').length).toBeGreaterThanOrEqual(2);
  expect((await scene.status(source, 'running')).last_error).toBe('');
});

// differs Brokers: SQS: `endpoint` is taken on create. Convoy drops it.
check('an endpoint works over TLS, and obeys the egress rule', async () => {
  const secure = await SqsGate.start(port, { [SQS_KEY.id]: { secret: SQS_KEY.secret } }, 'https');
  const strict = await startScene({
    POSTHORN_EGRESS: 'public',
    POSTHORN_EGRESS_ALLOW: '127.0.0.1/32',
    POSTHORN_CA_FILE: CA_FILE,
  });
  try {
    const scene = await BrokerScene.on(strict);
    const name = queueName();
    const url = await side.create(name);
    const through = (host: string, scheme = 'https') =>
      sqsSettings(0, { queue_name: name, endpoint: `${scheme}://${host}:${secure.port}` });
    for (const [host, scheme] of [
      ['127.0.0.2', 'http'],
      ['127.0.0.2', 'https'],
      ['[::1]', 'http'],
    ] as const) {
      const blocked = await scene.source(through(host, scheme), { is_disabled: true });
      expect((await scene.tested(blocked)).reason).toContain('not allowed by POSTHORN_EGRESS=public');
    }
    const source = await scene.source(through('localhost'));
    await side.publish(url, [numbered(1)]);
    await scene.waitFor(source, 1);
    await eventually(() => side.depth(url), 0, PATIENCE_MS);
    // Everything went there, although the URL of the queue names another server.
    expect(new Set(secure.actions)).toEqual(
      new Set(['GetQueueUrl', 'GetQueueAttributes', 'ReceiveMessage', 'DeleteMessageBatch']),
    );
  } finally {
    await strict.stop();
    secure.close();
  }
});

checkAtOnce(
  'the order of each group of a FIFO queue is the order of acceptance, on three nodes',
  async () => {
    const three = await startScene();
    await Promise.all([three.addNode(), three.addNode()]);
    const scene = await BrokerScene.on(three);
    const name = `${queueName()}.fifo`;
    const url = await side.create(name);
    const GROUPS = 7;
    const messages = range(0, 420).map((n) => ({ ...numbered(n), part: n % GROUPS }));
    await side.publish(url, messages.slice(0, 210));
    // The limit is used up in the middle of a lot: the rest of it waits, and what follows it in its groups too.
    const settings = { ...sqsSettings(port, { queue_name: name }), workers: 2 };
    const source = await scene.source(settings, { rate_limit: 25, rate_limit_duration: 3600 });
    const read = async () => (await scene.project.get(`/sources/${source.uid}`)).status as Json;
    await eventually(read, { last_error: /The limit of 25/ }, PATIENCE_MS);
    await side.publish(url, messages.slice(210));
    await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0 });
    await scene.waitFor(source, 420);
    const numbers = await scene.numbers(source);
    for (const group of range(0, GROUPS)) {
      const ofGroup = numbers.filter((n) => n % GROUPS === group);
      expect(ofGroup, `group ${group}`).toEqual(ofGroup.toSorted((a, b) => a - b));
    }
    await eventually(() => side.depth(url), 0, PATIENCE_MS);
    await three.stop();
  },
);

// differs Brokers: SQS: messages stay hidden while they wait to be stored. In Convoy they come again.
checkAtOnce('messages that wait for us stay hidden from others for as long as they wait', async () => {
  const { url, source, scene, since } = longHeld;
  const HIDDEN_MS = 32_000;
  await eventually(async () => performance.now() - since, atLeast(HIDDEN_MS), PATIENCE_MS);
  const other = new SQSClient({
    region: 'eu-west-1',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: { accessKeyId: 'other', secretAccessKey: 'other' },
  });
  const { Messages: messages = [] } = await other.send(new ReceiveMessageCommand({ QueueUrl: url }));
  other.destroy();
  expect(messages).toEqual([]);
  await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0 });
  await scene.waitFor(source, 8);
  await eventually(() => side.depth(url), 0, PATIENCE_MS);
});

checkAtOnce('messages that cannot be deleted come again and are dropped', async () => {
  const { name, url, source, scene } = undeleted;
  await scene.waitFor(source, 8);
  expect(await side.depth(url)).toBe(8);
  expect((await scene.project.get(`/sources/${source.uid}`)).status.last_error).toContain(
    'sqs:DeleteMessageBatch',
  );
  await scene.project.put(`/sources/${source.uid}`, { pub_sub: sqsSettings(port, { queue_name: name }) });
  await eventually(() => side.depth(url), 0, PATIENCE_MS);
  expect(await scene.count(source)).toBe(8);
});
