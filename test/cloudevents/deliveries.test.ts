import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const STRUCTURED = { 'content-type': 'application/cloudevents+json' };

let paths = 0;

/** An endpoint with this form, in a project of its own, and its next requests. */
async function scene(cloudevents: string, more: { endpoint?: object; subscription?: object } = {}) {
  const client = await app.newProject({ signature: { schemes: ['convoy', 'standard'] } });
  const path = `/${++paths}`;
  const made = await subscribe(client, `${receiver.url}${path}`, {
    endpoint: { cloudevents, secret: 'k', advanced_signatures: false, ...more.endpoint },
    ...(more.subscription && { subscription: more.subscription }),
  });
  const next = async (count = 1): Promise<Received> => (await receiver.received(count, path)).at(-1)!;
  return { client, ...made, next };
}

const sendCloud = async (client: ApiClient, fields: object = {}): Promise<Json> => {
  const body = { specversion: '1.0', id: 'A-1', source: '/shop', type: 'order.paid', ...fields };
  const response = await client.raw('POST', '/events/broadcast', { body, headers: STRUCTURED });
  expect(response.status).toBe(201);
  return ((await response.json()) as Json).data;
};

test('a CloudEvent that is passed on in its binary form has no envelope, another event has', async () => {
  const { client, next } = await scene('', { endpoint: { envelope: 'standard' } });
  await sendCloud(client, { data: { n: 1 } });
  const passed = await next();
  expect([passed.headers['ce-id'], passed.body.toString()]).toEqual(['A-1', '{"n":1}']);
  await client.post('/events/broadcast', { event_type: 'e', data: 1 });
  expect((await next(2)).json).toMatchObject({ type: 'e', data: 1 });
});

// proves Endpoints: cloudevents
test('structured: the body is the whole CloudEvent with the data as sent, and that body is signed', async () => {
  const { client, endpoint, next } = await scene('structured');
  const event = await client.raw('POST', '/events/broadcast', {
    body: '{"event_type":"order.paid","data":{"n": 1.0},"custom_headers":{"X-Own":"1"},"acknowledged_at":"2026-01-31T15:04:05Z"}',
  });
  const { data } = (await event.json()) as Json;
  const { body, headers, json } = await next();
  expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  expect(json).toEqual({
    specversion: '1.0',
    id: data.uid,
    source: `/projects/${client.projectId}`,
    type: 'order.paid',
    time: '2026-01-31T15:04:05.000Z',
    datacontenttype: 'application/json',
    data: { n: 1 },
  });
  expect(body.toString()).toContain('"data":{"n":1.0}}');
  expect(headers).toMatchObject({ 'x-own': '1' });
  expect(headers['x-convoy-signature']).toBe(createHmac('sha256', 'k').update(body).digest('hex'));
  const [id, at] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])];
  const signed = `${id}.${at}.${body.toString()}`;
  const signature = createHmac('sha256', 'k').update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  expect((await client.get(`/endpoints/${endpoint.uid}`)).cloudevents).toBe('structured');
});

test('a CloudEvent keeps its attributes in both forms', async () => {
  const attributes = { subject: 'größe "1"', time: '2026-01-31T15:04:05.123456Z', partitionkey: 'k' };
  const structured = await scene('structured');
  await sendCloud(structured.client, { ...attributes, data: 1 });
  const whole = await structured.next();
  expect(whole.json).toEqual({
    specversion: '1.0',
    id: 'A-1',
    source: '/shop',
    type: 'order.paid',
    ...attributes,
    datacontenttype: 'application/json',
    data: 1,
  });
  expect(Object.keys(whole.headers).filter((name) => name.startsWith('ce-'))).toEqual([]);
  const binary = await scene('binary');
  await sendCloud(binary.client, { ...attributes, data: 1 });
  const { headers, body } = await binary.next();
  expect([body.toString(), headers['content-type']]).toEqual(['1', 'application/json']);
  expect(headers).toMatchObject({
    'ce-specversion': '1.0',
    'ce-id': 'A-1',
    'ce-time': attributes.time,
    'ce-subject': 'gr%C3%B6%C3%9Fe%20%221%22',
  });
});

test('binary: an ordinary event gets the headers of a CloudEvent, also in its retries', async () => {
  const { client, next } = await scene('binary', {
    subscription: { retry_config: { type: 'linear', retry_count: 2, interval_seconds: 1 } },
  });
  receiver.answerNext(500);
  const event = await client.post('/events/broadcast', {
    event_type: 'größe',
    data: { a: 1 },
    custom_headers: { 'ce-id': 'half of an event' },
  });
  const first = await next();
  const second = await next(2);
  for (const { headers, body } of [first, second]) {
    expect(headers).toMatchObject({
      'ce-specversion': '1.0',
      'ce-id': event.uid,
      'ce-source': `/projects/${client.projectId}`,
      'ce-type': 'gr%C3%B6%C3%9Fe',
      'ce-time': event.acknowledged_at,
    });
    expect(body.toString()).toBe('{"a":1}');
  }
});

test('data that is not JSON is text or base64, and the result of a function is the data', async () => {
  const { client, next, subscription } = await scene('structured');
  const source = await httpSource(client);
  const post = (body: string | Buffer, type: string) =>
    fetch(source.url, { method: 'POST', body, headers: { 'content-type': type } });
  await post('<a/>', 'application/xml');
  expect((await next()).json).toMatchObject({
    source: `/projects/${client.projectId}/sources/${source.uid}`,
    datacontenttype: 'application/xml',
    data: '<a/>',
  });
  await post(Buffer.from([0xff, 0, 0x80]), 'image/png');
  const { json: bytes } = await next(2);
  expect(bytes).toMatchObject({ datacontenttype: 'image/png', data_base64: '/wCA' });
  expect(bytes).not.toHaveProperty('data');
  await post('{"broken":', 'application/json');
  expect((await next(3)).json).toMatchObject({
    datacontenttype: 'application/json',
    data_base64: Buffer.from('{"broken":').toString('base64'),
  });
  await client.put(`/subscriptions/${subscription.uid}`, {
    function: 'function transform(value) { return { made: value }; }',
  });
  await sendCloud(client, { data: 'x', datacontenttype: 'text/plain', id: '2' });
  expect((await next(4)).json).toMatchObject({
    id: '2',
    datacontenttype: 'application/json',
    data: { made: 'x' },
  });
});

test('form fields, a consumer and a test get the form too', async () => {
  const form = await scene('structured', { endpoint: { content_type: 'application/x-www-form-urlencoded' } });
  await form.client.post('/events/broadcast', { event_type: 'a', data: { x: 'y z' } });
  expect((await form.next()).json).toMatchObject({
    datacontenttype: 'application/x-www-form-urlencoded',
    data: 'x=y+z',
  });
  await form.client.post(
    '/endpoints/test',
    { endpoint: { url: `${receiver.url}/try`, cloudevents: 'binary' } },
    200,
  );
  const [tried] = receiver.at('/try');
  expect(tried?.headers).toMatchObject({
    'ce-specversion': '1.0',
    'ce-source': `/projects/${form.client.projectId}`,
  });
  const pull = await app.newProject();
  const { endpoint } = await subscribe(pull, '', {
    endpoint: { delivery: 'pull', cloudevents: 'structured' },
  });
  await sendCloud(pull, { data: [1] });
  const { deliveries } = await pull.post(`/endpoints/${endpoint.uid}/pull`, {}, 200);
  expect(JSON.parse(Buffer.from(deliveries[0].body, 'base64').toString())).toMatchObject({
    id: 'A-1',
    data: [1],
  });
});

test('another form is refused, and empty text goes back to none', async () => {
  const { client, endpoint, next } = await scene('structured');
  const refused = await client.put(`/endpoints/${endpoint.uid}`, { cloudevents: 'avro' }, 400);
  expect(refused.message).toBe('cloudevents: must be one of binary, structured');
  await client.put(`/endpoints/${endpoint.uid}`, { cloudevents: '' });
  await client.post('/events/broadcast', { event_type: 'a', data: { n: 1 } });
  const { json, headers } = await next();
  expect(json).toEqual({ n: 1 });
  expect(headers['ce-id']).toBeUndefined();
});
