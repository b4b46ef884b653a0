import { beforeEach, expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

beforeEach(async () => {
  project = await app.newProject();
  receiver.requests.length = 0;
});

const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
const BATCH = { 'content-type': 'application/cloudevents-batch+json' };
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const cloud = (fields: object = {}) => ({
  specversion: '1.0',
  id: 'A-1',
  source: '/shop/orders',
  type: 'order.paid',
  data: { n: 1 },
  ...fields,
});

async function post(path: string, body: unknown, headers: Record<string, string>): Promise<Json> {
  const response = await project.raw('POST', path, { body, headers });
  return { http: response.status, ...((await response.json()) as Json) };
}

/** So many attributes. */
const numbered = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, 1.5]));

/** The events of the project, none of which is more than the test stored. */
const stored = async (): Promise<Json[]> => (await project.get('/events')).content;

test('the attributes of a structured CloudEvent are the fields of the event, and its headers', async () => {
  await subscribe(project, receiver.url, { eventTypes: ['order.paid'] });
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const text = JSON.stringify(
    cloud({
      time: '2026-01-31T15:04:05.123456Z',
      subject: 'größe "1"',
      partitionkey: 'customer-7',
      expirytime: soon,
      traceparent: PARENT,
      attempt: 3,
      urgent: true,
      dataschema: null,
    }),
  ).replace('{"n":1}', '{ "n": 1.0, "big": 12345678901234567890 }');
  const { http, data: event } = await post('/events/broadcast', text, STRUCTURED);
  expect([http, event]).toMatchObject([
    201,
    {
      event_type: 'order.paid',
      idempotency_key: '/shop/orders A-1',
      acknowledged_at: '2026-01-31T15:04:05.123Z',
      ordering_key: 'customer-7',
      expires_at: soon,
      raw: '{"n":1.0,"big":12345678901234567890}',
    },
  ]);
  expect(event.headers).toMatchObject({
    'ce-specversion': ['1.0'],
    'ce-id': ['A-1'],
    'ce-subject': ['gr%C3%B6%C3%9Fe%20%221%22'],
    'ce-partitionkey': ['customer-7'],
    'ce-attempt': ['3'],
    'ce-urgent': ['true'],
  });
  expect(event.headers).not.toHaveProperty('ce-dataschema');
  // A delivery without further settings is a CloudEvent in its binary form.
  const [request] = await receiver.received(1);
  expect(request?.body.toString()).toBe('{"n":1.0,"big":12345678901234567890}');
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'ce-type': 'order.paid',
    'ce-time': '2026-01-31T15:04:05.123456Z',
  });
  expect(request?.headers['traceparent']).toContain('0af7651916cd43dd8448eb211c80319c');
});

test('a CloudEvent with the same source and id is a duplicate, with another source it is not', async () => {
  const send = async (fields: object) => (await post('/events/broadcast', cloud(fields), STRUCTURED)).data;
  const first = await send({});
  expect(await send({ data: 2 })).toMatchObject({ is_duplicate_event: true, duplicate_of: first.uid });
  expect(await send({ source: '/shop/returns' })).toMatchObject({ is_duplicate_event: false });
  const long = 'x'.repeat(600);
  const { idempotency_key: key } = await send({ id: long });
  expect(key).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(await send({ id: long })).toMatchObject({ is_duplicate_event: true });
});

test('a binary CloudEvent has its attributes in headers, and any data', async () => {
  const headers = (id: string, type: string) => ({
    'ce-specversion': '1.0',
    'CE-Id': id,
    'ce-source': '/shop',
    'ce-type': 'order.paid',
    'ce-subject': 'gr%C3%B6%C3%9Fe 50%',
    'ce-not-an-attribute': 'x',
    'content-type': type,
  });
  const json = await post('/events/broadcast', '{ "n": 1.0 }', headers('1', 'application/json'));
  expect(json).toMatchObject({ http: 201, data: { raw: '{"n":1.0}', idempotency_key: '/shop 1' } });
  expect(json.data.headers).toMatchObject({ 'ce-subject': ['gr%C3%B6%C3%9Fe%2050%25'] });
  expect(json.data.headers).not.toHaveProperty('ce-not-an-attribute');
  await subscribe(project, receiver.url);
  const xml = await post('/events/broadcast', '<a/>', headers('2', 'application/xml'));
  expect(xml).toMatchObject({ http: 201, data: { raw: '<a/>', data: '<a/>' } });
  const [request] = await receiver.received(1);
  expect([request?.headers['content-type'], String(request?.body)]).toEqual(['application/xml', '<a/>']);
  expect(await post('/events/broadcast', '', headers('3', 'application/json'))).toMatchObject({
    data: { raw: 'null' },
  });
  const large = `["${'x'.repeat(200_000)}", 1.0]`;
  const sliced = await post('/events/broadcast', large, headers('5', 'application/json'));
  expect(sliced.data.raw).toBe(large.replace(' ', ''));
  expect(await post('/events/broadcast', large.slice(1), headers('6', 'application/json'))).toMatchObject({
    http: 400,
    message: 'data: is not the JSON that its content type says',
  });
  expect(await post('/events/broadcast', '{', headers('4', 'application/json'))).toMatchObject({
    http: 400,
    message: 'data: is not the JSON that its content type says',
  });
});

test('data in base64 is bytes, or JSON where its type says so', async () => {
  const send = async (fields: object) => {
    const { data: _data, ...event } = cloud(fields);
    return post('/events/broadcast', event, STRUCTURED);
  };
  const bytes = await send({ id: '1', data_base64: '/wCA', datacontenttype: 'image/png' });
  expect(bytes).toMatchObject({ http: 201, data: { data: '/wCA' } });
  const json = await send({ id: '2', data_base64: 'eyJhIjogMX0=', datacontenttype: 'application/json' });
  expect(json.data.raw).toBe('{"a":1}');
  const unnamed = await send({ id: '3', data_base64: 'eyJhIjogMX0=' });
  expect(unnamed.data.raw).toBe('{"a": 1}');
  expect(await send({ id: '4' })).toMatchObject({ http: 201, data: { data: null } });
  const text = await post(
    '/events/broadcast',
    cloud({ id: '5', data: 'a,b', datacontenttype: 'text/csv' }),
    STRUCTURED,
  );
  expect(text.data).toMatchObject({ data: 'a,b', raw: 'a,b' });
  for (const [fields, message] of [
    [{ data_base64: 'a b' }, 'data_base64: must be base64'],
    [{ data_base64: 7 }, 'data_base64: must be base64'],
    [
      { data_base64: Buffer.from('['.repeat(101)).toString('base64'), datacontenttype: 'application/json' },
      'data_base64: The JSON nests deeper than 100 levels, the limit that POSTHORN_MAX_JSON_DEPTH sets.',
    ],
    [{ datacontenttype: 7 }, 'datacontenttype: must be a string'],
    [{ datacontenttype: 'text' }, 'datacontenttype: must be a media type, such as application/json'],
    [{ datacontenttype: 'a/b;\nx: y' }, 'datacontenttype: must be a media type, such as application/json'],
    [{ datacontenttype: 'a/b; c=\u20ac' }, 'datacontenttype: must be a media type, such as application/json'],
    [{ datacontenttype: `a/${'b'.repeat(255)}` }, 'datacontenttype: must have at most 256 characters'],
  ] as const)
    expect(await send({ id: '6', ...fields })).toMatchObject({ http: 400, message });
  for (const [fields, message] of [
    [{ data_base64: '/wCA' }, 'data_base64: cannot be given together with data'],
    [{ datacontenttype: 'text/csv' }, 'data: must be a string, because datacontenttype is text/csv'],
  ] as const)
    expect(await post('/events/broadcast', cloud(fields), STRUCTURED)).toMatchObject({ http: 400, message });
  expect(await stored()).toHaveLength(5);
});

test.each([
  [
    { id: '', source: undefined, type: null },
    'id: is required in a CloudEvent; source: is required in a CloudEvent; type: is required in a CloudEvent',
  ],
  [{ specversion: undefined }, 'specversion: is required in a CloudEvent'],
  [{ specversion: '0.3' }, 'specversion: must be 1.0, not 0.3'],
  [{ time: 'yesterday' }, 'time: must be a time such as'],
  [{ expirytime: '2026-02-30T00:00:00Z' }, 'expirytime: must be a time such as'],
  [{ expirytime: '2001-01-01T00:00:00Z' }, 'expirytime: must be in the future'],
  [{ source: 'two words' }, 'source: must be a URI reference, without spaces'],
  [{ subject: 'x'.repeat(8_193) }, 'the attributes of a CloudEvent must have at most 8192 bytes together'],
  [numbered(97), 'a CloudEvent must have at most 100 attributes'],
  [{ type: 'a\u0000b' }, 'type: must not have control characters'],
  [{ id: { a: 1 } }, 'id: must be a string, a whole number or a boolean'],
  [{ share: 0.5 }, 'share: must be a string, a whole number or a boolean'],
  [{ event_type: 'x' }, 'event_type: is no name of an attribute'],
  [{ type: 'x'.repeat(257) }, 'type: must have at most 256 characters'],
  [{ partitionkey: 'x'.repeat(513) }, 'partitionkey: must have at most 512 characters'],
])('%j is refused with the name of each field, and nothing is stored', async (fields, message) => {
  const refused = await post('/events/broadcast', cloud(fields), STRUCTURED);
  expect(refused).toMatchObject({ http: 400, code: 'validation_failed' });
  expect(refused.message).toContain(message);
  expect(await stored()).toEqual([]);
});

test('a hundred attributes are taken; a refusal names twenty of them', async () => {
  const whole = Object.fromEntries(Object.keys(numbered(96)).map((name) => [name, 1]));
  expect(await post('/events/broadcast', cloud(whole), STRUCTURED)).toMatchObject({ http: 201 });
  const refused = await post('/events/broadcast', cloud(numbered(96)), STRUCTURED);
  expect(refused.http).toBe(400);
  expect(refused.message.split('; ')).toHaveLength(20);
  const binary = Object.keys(numbered(97)).map((name) => [`ce-${name}`, '1'] as const);
  const required = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/s', 'ce-type': 't' };
  const headers = { ...required, ...Object.fromEntries(binary), 'content-type': 'application/json' };
  expect(await post('/events/broadcast', '1', headers)).toMatchObject({
    http: 400,
    message: 'a CloudEvent must have at most 100 attributes',
  });
  const wide = await post('/events/broadcast', cloud({ subject: 'ü'.repeat(4_100) }), STRUCTURED);
  expect(wide.message).toContain('at most 8192 bytes together');
  const long = { ...required, 'ce-subject': 'x'.repeat(8_192), 'content-type': 'application/json' };
  expect(await post('/events/broadcast', '1', long)).toMatchObject({
    http: 400,
    message: 'the attributes of a CloudEvent must have at most 8192 bytes together',
  });
  expect(await stored()).toHaveLength(1);
});

test('what is no CloudEvent is refused: other formats, other JSON, headers alone', async () => {
  for (const [body, type, code] of [
    ['[]', 'application/cloudevents+json', 'validation_failed'],
    ['{', 'application/cloudevents+json', 'bad_json'],
    ['', 'application/cloudevents+json', 'body_required'],
    ['{}', 'application/cloudevents-batch+json', 'validation_failed'],
    ['{}', 'application/cloudevents+xml', 'unsupported_media_type'],
    ['{}', 'text/plain', 'unsupported_media_type'],
  ] as const)
    expect(await post('/events/broadcast', body, { 'content-type': type })).toMatchObject({ code });
  const headers = { 'content-type': 'application/json', 'ce-id': '1' };
  const half = await post('/events/broadcast', { event_type: 'a', data: 1 }, headers);
  expect(half.message).toContain('specversion: is required in a CloudEvent');
  expect(await project.post('/endpoints', cloud(), 400)).toMatchObject({ code: 'validation_failed' });
  expect((await project.raw('POST', '/endpoints', { body: cloud(), headers: STRUCTURED })).status).toBe(415);
  expect(await stored()).toEqual([]);
});

test('the query or an extension says where it goes, and the query goes first', async () => {
  const one = await subscribe(project, `${receiver.url}/one`, { endpoint: { owner_id: 'ann' } });
  const two = await subscribe(project, `${receiver.url}/two`, { endpoint: { owner_id: 'bob' } });
  const [first, second] = [one.endpoint.uid, two.endpoint.uid];
  let id = 0;
  const sent = async (path: string, fields: object = {}) => {
    const answer = await post(path, cloud({ id: String(id++), ...fields }), STRUCTURED);
    return answer.data?.endpoints ?? answer.message;
  };
  expect(await sent(`/events?endpoint_id=${first}`)).toEqual([first]);
  expect(await sent('/events', { endpointid: second })).toEqual([second]);
  expect(await sent(`/events?endpoint_id=${first}`, { endpointid: second })).toEqual([first]);
  expect(await sent('/events/fanout?owner_id=bob')).toEqual([second]);
  expect(await sent('/events/fanout', { ownerid: 'ann' })).toEqual([first]);
  expect(await sent('/events/broadcast')).toEqual([first, second]);
  const url = `${receiver.url}/new`;
  const made = await sent(`/events/dynamic?url=${encodeURIComponent(url)}`);
  expect(await project.get(`/endpoints/${made[0]}`)).toMatchObject({ url });
  expect(await sent('/events/dynamic', { url })).toEqual(made);
  expect(await sent('/events')).toBe(
    'endpoint_id: is required, as a parameter of the query or as the attribute endpointid',
  );
  expect(await sent('/events?endpoint_id=none')).toContain('none');
  expect(await sent('/events/fanout')).toContain('owner_id: is required');
  expect(await sent('/events/dynamic')).toContain('url: is required');
});

test('a batch is stored as a whole, or not at all with the problem of each event', async () => {
  const { endpoint } = await subscribe(project, receiver.url, { endpoint: { owner_id: 'ann' } });
  const events = [cloud({ id: '1' }), cloud({ id: '2', data: [1.5] }), cloud({ id: '1' })];
  const text = JSON.stringify(events).replace('[1.5]', '[1.50]');
  const answer = await post('/events/fanout?owner_id=ann', text, BATCH);
  expect(answer).toMatchObject({ http: 200, message: 'CloudEvents stored' });
  expect(answer.data.results.map(({ status }: Json) => status)).toEqual(['stored', 'stored', 'duplicate']);
  const second = await project.get(`/events/${answer.data.results[1].uid}`);
  expect(second).toMatchObject({ raw: '[1.50]', event_type: 'order.paid', endpoints: [endpoint.uid] });
  const bad = [cloud({ id: '4' }), cloud({ id: '5', type: '' }), 7];
  const refused = await post('/events/broadcast', bad, BATCH);
  expect(refused).toMatchObject({
    http: 400,
    message:
      'events[1].type: is required in a CloudEvent; events[2]: must be an object with the attributes of a CloudEvent',
  });
  expect(await post('/events', [cloud({ id: '6', endpointid: endpoint.uid })], BATCH)).toMatchObject({
    data: { results: [{ status: 'stored' }] },
  });
  const url = `${receiver.url}/new`;
  expect(await post('/events/dynamic', [cloud({ id: '7', url })], BATCH)).toMatchObject({ http: 200 });
  expect(await post('/events/broadcast', [], BATCH)).toMatchObject({ http: 200, data: { results: [] } });
  const many = Array.from({ length: 1_001 }, (_, n) => cloud({ id: `m${n}` }));
  expect(await post('/events/broadcast', many, BATCH)).toMatchObject({
    http: 400,
    message: 'body: must have at most 1000 CloudEvents',
  });
  const keyed = { ...BATCH, 'idempotency-key': 'k' };
  expect(await post('/events/broadcast', [cloud({ id: '8' })], keyed)).toMatchObject({ http: 400 });
  expect(await stored()).toHaveLength(5);
});

test('a portal link sends CloudEvents to its own endpoints only, also in a batch', async () => {
  const own = await subscribe(project, receiver.url, { endpoint: { owner_id: 'ann' } });
  const other = await subscribe(project, receiver.url, { endpoint: { owner_id: 'bob' } });
  const portal = await portalOf(project, 'ann', { can_create_events: true });
  const send = async (endpoint: Json) => {
    const body = [cloud({ id: endpoint.uid, endpointid: endpoint.uid })];
    return (await portal.raw('POST', '/events', { body, headers: BATCH })).status;
  };
  expect([await send(own.endpoint), await send(other.endpoint)]).toEqual([200, 400]);
  expect(await stored()).toHaveLength(1);
});

test('filters see the attributes as headers', async () => {
  const { endpoint } = await subscribe(project, receiver.url, {
    subscription: {
      filter_config: { event_types: ['*'], filter: { headers: { 'ce-source': '/shop/orders' } } },
    },
  });
  const send = async (source: string) =>
    (await post('/events/broadcast', cloud({ source }), STRUCTURED)).data.endpoints;
  expect(await send('/shop/orders')).toEqual([endpoint.uid]);
  expect(await send('/shop/returns')).toEqual([]);
});
