import { expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { listenTcp } from '../../support/servers/loopback-server.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());

const refused = async (body: object, ...texts: string[]) => {
  const answer: Json = await app.project.post('/sources', body, 400);
  expect(answer.code).toBe('validation_failed');
  for (const text of texts) expect(answer.message).toContain(text);
};

const brokers: [string, object, object?][] = [
  [
    'sqs',
    { queue_name: 'q', access_key_id: 'a', secret_key: 's', default_region: 'eu-1' },
    { queue_name: 'q', access_key_id: 'a', secret_key: 's', default_region: 'eu-1', endpoint: '' },
  ],
  [
    'google',
    { project_id: 'p', subscription_id: 's', service_account: [123, 125] },
    { project_id: 'p', subscription_id: 's', service_account: 'e30=', endpoint: '' },
  ],
  [
    'google',
    { project_id: 'p', subscription_id: 's', service_account: 'e30=', endpoint: 'https://127.0.0.1:1' },
  ],
  [
    'kafka',
    {
      brokers: ['b1:9092', '[::1]:9093'],
      consumer_group_id: 'g',
      topic_name: 't',
      auth: { type: 'scram', hash: 'SHA512', username: 'u', password: 'p', tls: true },
    },
  ],
  [
    'kafka',
    { brokers: ['b1:9092'], topic_name: 't' },
    { brokers: ['b1:9092'], topic_name: 't', consumer_group_id: '', auth: null },
  ],
  [
    'amqp',
    {
      schema: 'amqps',
      host: 'rabbit',
      port: '5671',
      queue: 'q',
      vhost: '/v',
      deadLetterExchange: 'dead',
      auth: { user: 'u', password: 'p' },
      bindExchange: { exchange: 'x', routingKey: 'k' },
    },
    {
      schema: 'amqps',
      host: 'rabbit',
      port: '5671',
      queue: 'q',
      vhost: '/v',
      deadLetterExchange: 'dead',
      auth: { user: 'u', password: 'p' },
      bindedExchange: 'x',
      routingKey: 'k',
    },
  ],
  [
    'amqp',
    { host: 'rabbit', queue: 'q' },
    {
      schema: 'amqp',
      host: 'rabbit',
      port: '5672',
      queue: 'q',
      vhost: null,
      deadLetterExchange: null,
      auth: null,
      bindedExchange: null,
      routingKey: '',
    },
  ],
];
test.each(brokers)('settings of a %s broker are returned in full', async (type, given, shown) => {
  const pub_sub = { type, workers: 3, [type]: given };
  const body = { name: 'broker', type: 'pub_sub', is_disabled: true, pub_sub };
  const made = await app.project.post('/sources', body);
  const none = { sqs: null, google: null, kafka: null, amqp: null };
  expect(made.pub_sub).toEqual({ ...none, type, workers: 3, [type]: shown ?? given });
  expect(await app.project.get(`/sources/${made.uid}`)).toEqual(made);
});

const sqs = { queue_name: 'q', access_key_id: 'i', secret_key: 's', default_region: 'r' };
const badBrokers: [object | undefined, string[]][] = [
  [undefined, ['pub_sub: is required when type is pub_sub']],
  [{}, ['pub_sub.type: is required']],
  [{ type: 'nats' }, ['pub_sub.type: must be one of sqs, google, kafka, amqp']],
  [{ type: 'sqs' }, ['pub_sub.sqs: is required when pub_sub.type is sqs']],
  [{ type: 'sqs', workers: 0, sqs: {} }, ['pub_sub.workers: must be at least 1']],
  [
    { type: 'sqs', sqs: { queue_name: 'q' } },
    ['sqs.access_key_id: is required', 'sqs.secret_key: is required', 'sqs.default_region: is required'],
  ],
  [{ type: 'sqs', sqs: { queue_name: 4 } }, ['pub_sub.sqs.queue_name: must be a string']],
  [
    { type: 'google', google: { service_account: '$$' } },
    ['project_id: is required', 'subscription_id: is required', 'service_account: must be base64'],
  ],
  [{ type: 'google', google: { service_account: [256] } }, ['service_account: must be base64']],
  [{ type: 'google', google: { service_account: [1.5] } }, ['service_account']],
  [{ type: 'google', google: { service_account: [] } }, ['service_account: is required']],
  [{ type: 'kafka', kafka: {} }, ['brokers: is required', 'topic_name: is required']],
  [
    { type: 'kafka', kafka: { brokers: ['a:1', 'no-port'], topic_name: 't' } },
    ['brokers.1: must be host:port'],
  ],
  [
    { type: 'kafka', kafka: { brokers: ['a:1'], topic_name: 't', auth: { type: 'scram' } } },
    ['auth.username', 'auth.password'],
  ],
  [
    { type: 'kafka', kafka: { brokers: ['u:p@a:1'], topic_name: 't' } },
    ['brokers.0: must have no user name'],
  ],
  [
    { type: 'sqs', sqs: { ...sqs, endpoint: 'https://u:p@sqs.example' } },
    ['sqs.endpoint: must have no user name, password, query or fragment: it is shown'],
  ],
  [{ type: 'sqs', sqs: { ...sqs, endpoint: 'http://h/?key=p' } }, ['sqs.endpoint: must have no user name']],
  [{ type: 'amqp', amqp: { host: 'u:p@h', queue: 'q' } }, ['amqp.host: must have no user name']],
  [{ type: 'amqp', amqp: {} }, ['amqp.host: is required', 'amqp.queue: is required']],
  [{ type: 'amqp', amqp: { host: 'h', queue: 'q', port: '70000' } }, ['amqp.port: must be a port number']],
  [
    { type: 'amqp', amqp: { host: 'h', queue: 'ä'.repeat(128) } },
    ['amqp.queue: must have at most 255 bytes'],
  ],
  [
    { type: 'amqp', amqp: { host: 'h', queue: 'q', bindExchange: { routingKey: 'k' } } },
    ['bindExchange.exchange: is required'],
  ],
];
test.each(badBrokers)('incomplete broker settings are refused: %j', async (pub_sub, texts) => {
  await refused({ name: 'broker', type: 'pub_sub', pub_sub }, ...texts);
});

test('settings of a change stream are returned in full; names that are not given are made up and stay', async () => {
  const connection_url = 'postgres://u:p@127.0.0.1:1/d';
  const given = {
    connection_url,
    slot_name: 's',
    publication_name: 'p',
    tables: ['public.t'],
    snapshot: true,
  };
  const body = { name: 'changes', type: 'db_change_stream', is_disabled: true };
  const made = await app.project.post('/sources', { ...body, db_change_stream: given });
  expect(made.db_change_stream).toEqual(given);
  expect(await app.project.get(`/sources/${made.uid}`)).toEqual(made);
  const short = { connection_url, tables: ['public.t', 'public.t'] };
  const { uid, mask_id, db_change_stream } = await app.project.post('/sources', {
    ...body,
    db_change_stream: short,
  });
  const name = `posthorn_${mask_id.toLowerCase()}`;
  const names = { slot_name: name, publication_name: name };
  expect(db_change_stream).toEqual({ connection_url, ...names, tables: ['public.t'], snapshot: false });
  const changed = { connection_url: 'postgres://u:other@127.0.0.1:1/d', tables: ['public.t'] };
  const updated = await app.project.put(`/sources/${uid}`, { db_change_stream: changed });
  expect(updated.db_change_stream).toEqual({ ...changed, ...names, snapshot: false });
});

test.each<[object, string[]]>([
  [
    {},
    ['db_change_stream.connection_url: is required', 'db_change_stream.tables: must name at least one table'],
  ],
  [{ connection_url: 'mysql://h/d', tables: ['a.b'] }, ['connection_url: must be a URL']],
  [
    { connection_url: 'postgres://u@h/d?host=/tmp', tables: ['a.b'] },
    ['connection_url: has the parameter host'],
  ],
  [
    {
      connection_url: 'postgres://u@h/d',
      slot_name: 'A b',
      tables: ['t', 'a.b'],
      publication_name: 'ü'.repeat(32),
    },
    [
      'slot_name: may have lower case',
      'tables.0: must be schema.table',
      'publication_name: must be a name of 63',
    ],
  ],
])('incomplete settings of a change stream are refused: %j', async (db_change_stream, texts) => {
  await refused({ name: 'changes', type: 'db_change_stream', db_change_stream }, ...texts);
});

test('SCRAM without a hash is SHA512, as Convoy has it', async () => {
  const auth = { type: 'scram', username: 'u', password: 'p' };
  const kafka = { brokers: ['127.0.0.1:1'], topic_name: 't', auth };
  const pub_sub = { type: 'kafka', workers: 1, kafka };
  const source = await app.project.post('/sources', {
    name: 'k',
    type: 'pub_sub',
    is_disabled: true,
    pub_sub,
  });
  expect(source.pub_sub.kafka.auth).toEqual({ ...auth, hash: 'SHA512', tls: false });
});

test('a server that sends zeros is no database, and the test of a change stream says so', async () => {
  const server = await listenTcp((socket) => void socket.write(Buffer.alloc(4096)));
  onTestFinished(() => server.close());
  const project = await app.newProject();
  const source = await project.post('/sources', {
    name: 'changes',
    type: 'db_change_stream',
    is_disabled: true,
    db_change_stream: { connection_url: `postgres://u:p@127.0.0.1:${server.port}/d`, tables: ['a.b'] },
  });
  const { reason } = await project.post(`/sources/${source.uid}/test_connection`, undefined, 200);
  expect(reason).toBe('The server does not speak the protocol of PostgreSQL: check host and port.');
});

test('the connection to a broker can be tried, ten times a minute; other sources have none, and no status', async () => {
  const kafka = { brokers: ['127.0.0.1:1'], topic_name: 't' };
  const pub_sub = { type: 'kafka', workers: 1, kafka };
  const source = await app.project.post('/sources', {
    name: 'k',
    type: 'pub_sub',
    is_disabled: true,
    pub_sub,
  });
  const path = `/sources/${source.uid}/test_connection`;
  const refused = 'The broker refused the connection: check the address and that it is running.';
  expect(await app.project.post(path, undefined, 200)).toEqual({ ok: false, reason: refused });
  const more = Array.from({ length: 12 }, () => app.project.raw('POST', path));
  const statuses = (await Promise.all(more)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(9);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3);
  const none = { last_message_at: null, last_error: '', last_error_at: null, lag: null };
  expect(source.status).toEqual({ state: 'disabled', reason: '', ...none });
  const http = await app.project.post('/sources', { name: 'h', type: 'http' });
  expect(http.status).toBe(null);
  await app.project.post(`/sources/${http.uid}/test_connection`, undefined, 400);
  await app.project.post('/sources/none/test_connection', undefined, 404);
});
