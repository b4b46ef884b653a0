import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const STRUCTURED = 'application/cloudevents+json';
const BATCH = 'application/cloudevents-batch+json';

const makeSource = (fields: object = {}): Promise<Json> =>
  app.project.post('/sources', { name: 'source', type: 'http', ...fields });

const cloud = (fields: object = {}) => ({
  specversion: '1.0',
  id: '1',
  source: '/shop',
  type: 'order.paid',
  data: { n: 1 },
  ...fields,
});

async function post(source: Json, body: unknown, headers: Record<string, string>): Promise<Json> {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const response = await fetch(source.url, { method: 'POST', body: bytes, headers });
  return { http: response.status, ...((await response.json()) as Json) };
}

const eventsOf = async (source: Json): Promise<Json[]> =>
  (await app.project.get(`/events?sourceId=${source.uid}&sort=ASC`)).content;

// proves Sources: cloudevents
test('a source reads CloudEvents in each form; deliveries carry their attributes', async () => {
  const source = await makeSource();
  await subscribe(app.project, receiver.url, { subscription: { source_id: source.uid } });
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const structured = cloud({ time: '2026-01-31T15:04:05Z', partitionkey: 'k', expirytime: soon });
  expect(await post(source, structured, { 'content-type': STRUCTURED })).toMatchObject({
    http: 200,
    message: 'Event received',
    data: 7,
  });
  const attributes = { 'ce-specversion': '1.0', 'ce-id': '2', 'ce-source': '/shop', 'ce-type': 'order.sent' };
  const packed = { ...attributes, 'content-type': 'application/json', 'content-encoding': 'gzip' };
  expect(await post(source, gzipSync('{"n": 2}'), packed)).toMatchObject({ http: 200 });
  const batch = [cloud({ id: '3' }), cloud({ id: '4', type: 'order.lost', data: [1] }), cloud({ id: '1' })];
  expect(await post(source, batch, { 'content-type': BATCH })).toMatchObject({ http: 200, data: 17 });
  const events = await eventsOf(source);
  expect(events.map(({ event_type, raw }) => [event_type, raw])).toEqual([
    ['order.paid', '{"n":1}'],
    ['order.sent', '{"n":2}'],
    ['order.paid', '{"n":1}'],
    ['order.lost', '[1]'],
    ['order.paid', '{"n":1}'],
  ]);
  expect(events[0]).toMatchObject({
    acknowledged_at: '2026-01-31T15:04:05.000Z',
    ordering_key: 'k',
    expires_at: soon,
  });
  expect(events[4]).toMatchObject({ is_duplicate_event: true, duplicate_of: events[0].uid });
  const requests = await receiver.received(4);
  expect(requests.map(({ headers }) => String(headers['ce-id'])).sort()).toEqual(['1', '2', '3', '4']);
});

test('the locations of a source go before the attributes', async () => {
  const source = await makeSource({
    event_type_location: 'request.body.data.kind',
    idempotency_keys: ['request.body.data.key'],
  });
  const send = (id: string, key: string) =>
    post(source, cloud({ id, data: { kind: 'own', key } }), { 'content-type': STRUCTURED });
  for (const [id, key] of [
    ['1', 'a'],
    ['2', 'a'],
    ['1', 'b'],
  ] as const)
    expect(await send(id, key)).toMatchObject({ http: 200 });
  const events = await eventsOf(source);
  expect(events.map(({ event_type, is_duplicate_event }) => [event_type, is_duplicate_event])).toEqual([
    ['own', false],
    ['own', true],
    ['own', false],
  ]);
});

// differs Sources: New sources read [CloudEvents](cloudevents.md). `cloudevents: false` keeps the request as it
//   came. Convoy knows none.
test('a source that reads no CloudEvents keeps them as they come', async () => {
  const source = await makeSource({ cloudevents: false });
  expect(await post(source, cloud(), { 'content-type': STRUCTURED })).toMatchObject({ http: 200 });
  const headers = { 'ce-id': '1', 'content-type': 'application/json' };
  expect(await post(source, '{"a":1}', headers)).toMatchObject({ http: 200 });
  const [whole, other] = await eventsOf(source);
  expect(whole).toMatchObject({
    event_type: source.mask_id,
    raw: JSON.stringify(cloud()),
    idempotency_key: '',
  });
  expect(other).toMatchObject({ event_type: source.mask_id, raw: '{"a":1}' });
});

const hmac = { header: 'X-Sig', hash: 'SHA256', secret: 'shared secret', encoding: 'hex' };
const signed = { verifier: { type: 'hmac', hmac } };
const inHeaders = (id: string) => ({
  'ce-specversion': '1.0',
  'ce-id': id,
  'ce-source': '/forged',
  'ce-type': 'payment.made',
  'content-type': 'application/json',
});

function postSigned(source: Json, body: unknown, headers: Record<string, string>): Promise<Json> {
  const text = JSON.stringify(body);
  const signature = createHmac('sha256', hmac.secret).update(text).digest('hex');
  return post(source, text, { ...headers, 'X-Sig': signature, 'X-Hub-Signature-256': `sha256=${signature}` });
}

test('a signature of the body alone lets no header say what an event is, unless its source asks for it', async () => {
  const github = { provider: 'github', verifier: { type: 'hmac', hmac: { secret: hmac.secret } } };
  for (const fields of [signed, github]) {
    const source = await makeSource({ ...fields, event_type_location: '' });
    await subscribe(app.project, receiver.url, { subscription: { source_id: source.uid } });
    const before = receiver.requests.length;
    expect(await postSigned(source, { n: 1 }, inHeaders('1'))).toMatchObject({ http: 200 });
    expect(await postSigned(source, cloud(), { 'content-type': STRUCTURED })).toMatchObject({ http: 200 });
    const [plain, structured] = await eventsOf(source);
    expect(plain).toMatchObject({ event_type: source.mask_id, raw: '{"n":1}', idempotency_key: '' });
    expect(structured).toMatchObject({ event_type: 'order.paid', raw: '{"n":1}' });
    const requests = (await receiver.received(before + 2)).slice(before);
    expect(new Set(requests.map(({ headers }) => headers['ce-type']))).toEqual(
      new Set(['order.paid', undefined]),
    );
  }
  // A password or a key is in the headers itself, so who has it may set the others.
  const basic_auth = { username: 'u', password: 'p' };
  const source = await makeSource({ verifier: { type: 'basic_auth', basic_auth } });
  const authorization = `Basic ${Buffer.from('u:p').toString('base64')}`;
  await post(source, '{"n":1}', { ...inHeaders('1'), authorization });
  expect(await eventsOf(source)).toMatchObject([{ event_type: 'payment.made' }]);
});

// proves Sources: unsigned_cloudevents
test('a signed source that asks for the headers is warned, and a repeat is found by what is signed', async () => {
  const source = await makeSource({ ...signed, unsigned_cloudevents: true });
  for (const [n, id] of [
    [1, '1'],
    [1, '2'],
    [2, '1'],
  ] as const)
    expect(await postSigned(source, { n }, inHeaders(id))).toMatchObject({ http: 200 });
  const events = await eventsOf(source);
  expect(events.map(({ event_type, is_duplicate_event }) => [event_type, is_duplicate_event])).toEqual([
    ['payment.made', false],
    ['payment.made', true],
    ['payment.made', false],
  ]);
  const own = await makeSource({
    ...signed,
    unsigned_cloudevents: true,
    idempotency_keys: ['request.header.ce-id'],
  });
  for (const id of ['1', '2']) await postSigned(own, { n: 1 }, inHeaders(id));
  expect((await eventsOf(own)).map(({ is_duplicate_event }) => is_duplicate_event)).toEqual([false, false]);
});

test('every answer about a source that believes unsigned headers has a warning', async () => {
  const answerOf = async (method: string, path: string, body?: object): Promise<Json> =>
    (await app.project.raw(method, path, { body })).json();
  const asking = { name: 's', type: 'http', ...signed, unsigned_cloudevents: true };
  const made = await answerOf('POST', '/sources', asking);
  const warned = [expect.stringContaining('unsigned_cloudevents')];
  expect(made.warnings).toEqual(warned);
  const path = `/sources/${made.data.uid}`;
  expect((await answerOf('GET', path)).warnings).toEqual(warned);
  expect((await answerOf('PUT', path, { name: 't' })).warnings).toEqual(warned);
  for (const change of [{ cloudevents: false }, { cloudevents: true, verifier: { type: 'noop' } }])
    expect(await answerOf('PUT', path, change)).not.toHaveProperty('warnings');
  expect(await answerOf('POST', '/sources', { name: 's', type: 'http', ...signed })).not.toHaveProperty(
    'warnings',
  );
});

test('a source of version 0.1.0 keeps them as they come too', async () => {
  const source = await makeSource();
  const [column] = await app.database.query(
    `select column_default as text from information_schema.columns
     where table_name = 'sources' and column_name = 'cloudevents'`,
  );
  expect(column?.['text']).toBe('false');
  expect(source.cloudevents).toBe(true);
});

test('what is no CloudEvent is refused and not stored; one bad event refuses its batch', async () => {
  const source = await makeSource();
  for (const [body, type, message] of [
    [cloud({ id: undefined }), STRUCTURED, 'id: is required in a CloudEvent'],
    [cloud({ specversion: '2.0' }), STRUCTURED, 'specversion: must be 1.0, not 2.0'],
    [cloud({ expirytime: '2001-01-01T00:00:00Z' }), STRUCTURED, 'expirytime: must be in the future'],
    ['{', STRUCTURED, 'it is not the JSON of CloudEvents'],
    [[cloud(), cloud({ time: 'soon' }), 1], BATCH, 'events[1].time: must be a time'],
    [cloud(), BATCH, 'body: must be a list of CloudEvents'],
    [Array.from({ length: 1_001 }, () => 1), BATCH, 'body: must have at most 1000 CloudEvents'],
  ] as const) {
    const refused = await post(source, body, { 'content-type': type });
    expect(refused.http).toBe(400);
    expect(refused.message).toContain(message);
  }
  const halfBinary = { 'ce-type': 'a', 'content-type': 'application/json' };
  expect(await post(source, '{}', halfBinary)).toMatchObject({ http: 400 });
  const other = { 'content-type': 'application/cloudevents+avro' };
  expect(await post(source, 'Obj', other)).toMatchObject({ http: 200 });
  expect((await eventsOf(source)).map(({ raw }) => raw)).toEqual(['Obj']);
});

test('a source verifies CloudEvents by the bytes of the request', async () => {
  const source = await makeSource({
    verifier: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'right' } },
  });
  const send = (key: string) => post(source, cloud(), { 'content-type': STRUCTURED, 'x-key': key });
  expect([(await send('wrong')).http, (await send('right')).http]).toEqual([400, 200]);
  expect(await eventsOf(source)).toHaveLength(1);
});

test('a source gives a sender its consent, and names its lowest rate', async () => {
  const ask = async (source: Json, headers: Record<string, string>) => {
    const response = await fetch(source.url, { method: 'OPTIONS', headers });
    const of = (name: string) => response.headers.get(`webhook-allowed-${name}`);
    return [response.status, of('origin'), of('rate')];
  };
  const origin = { 'webhook-request-origin': 'eventgrid.azure.net', 'webhook-request-rate': '120' };
  const free = await makeSource();
  expect(await ask(free, origin)).toEqual([200, 'eventgrid.azure.net', '*']);
  const limited = await makeSource({ rate_limit: 5, rate_limit_duration: 10 });
  expect(await ask(limited, origin)).toEqual([200, 'eventgrid.azure.net', '30']);
  const slow = await makeSource({ rate_limit: 1, rate_limit_duration: 3600 });
  expect(await ask(slow, origin)).toEqual([200, 'eventgrid.azure.net', '1']);
  const project = await app.newProject({ ratelimit: { count: 10, duration: 60 } });
  const under = await httpSource(project, { rate_limit: 1, rate_limit_duration: 1 });
  expect(await ask(under, origin)).toEqual([200, 'eventgrid.azure.net', '10']);
  expect(await ask(free, {})).toEqual([400, null, null]);
  expect(await ask(await makeSource({ cloudevents: false }), origin)).toEqual([400, null, null]);
  expect(await ask(await makeSource({ is_disabled: true }), origin)).toEqual([403, null, null]);
  expect(await ask({ url: `${app.url}/ingest/unknown` }, origin)).toEqual([404, null, null]);
  const preflight = { origin: 'https://example.org', 'access-control-request-method': 'POST' };
  expect(await ask(free, preflight)).toEqual([400, null, null]);
});

/** As Azure's documentation has them. */
const validation = [
  {
    id: '2d1781af-3a4c-4d7c-bd0c-e34b19da4e66',
    topic: '/subscriptions/xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx',
    subject: '',
    data: {
      validationCode: '512d38b6-c7b8-40c8-89fe-f46f9e9622b6',
      validationUrl: 'https://rp-eastus2.eventgrid.azure.net:553/eventsubscriptions/myeventsub/validate?id=0',
    },
    eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
    eventTime: '2018-01-25T22:12:19.4556811Z',
    metadataVersion: '1',
    dataVersion: '1',
  },
];
const notification = [
  {
    topic: '/subscriptions/id/resourceGroups/Storage/providers/Microsoft.Storage/storageAccounts/myaccount',
    subject: '/blobServices/default/containers/test/blobs/new-file.txt',
    eventType: 'Microsoft.Storage.BlobCreated',
    eventTime: '2017-06-26T18:41:00.9584103Z',
    id: '831e1650-001e-001b-66ab-eeb76e069631',
    data: { api: 'PutBlockList', contentLength: 524_288 },
    dataVersion: '',
    metadataVersion: '1',
  },
];

test('Event Grid subscribes a source with its code, and its events are read one by one', async () => {
  const source = await makeSource({
    verifier: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'right' } },
  });
  const send = (kind: string, body: unknown, key = 'right') =>
    post(source, body, {
      'content-type': 'application/json; charset=utf-8',
      'aeg-event-type': kind,
      'x-key': key,
    });
  expect(await send('SubscriptionValidation', validation)).toEqual({
    http: 200,
    validationResponse: '512d38b6-c7b8-40c8-89fe-f46f9e9622b6',
  });
  expect(await send('SubscriptionValidation', validation, 'wrong')).toMatchObject({ http: 400 });
  expect(await eventsOf(source)).toEqual([]);
  expect(await send('Notification', notification)).toMatchObject({ http: 200 });
  expect(await send('Notification', notification)).toMatchObject({ http: 200 });
  const [event, again] = await eventsOf(source);
  expect(event).toMatchObject({
    event_type: 'Microsoft.Storage.BlobCreated',
    data: { api: 'PutBlockList' },
    acknowledged_at: '2017-06-26T18:41:00.958Z',
  });
  expect(event.headers['ce-subject']).toEqual(['/blobServices/default/containers/test/blobs/new-file.txt']);
  expect(again).toMatchObject({ is_duplicate_event: true });
  expect(await send('Notification', [{ ...notification[0], eventType: '' }])).toMatchObject({
    http: 400,
    message: 'events[0].type: is required in a CloudEvent',
  });
  const plain = await makeSource({ cloudevents: false });
  const headers = { 'content-type': 'application/json', 'aeg-event-type': 'SubscriptionValidation' };
  expect(await post(plain, validation, headers)).toMatchObject({ message: 'Event received' });
});
