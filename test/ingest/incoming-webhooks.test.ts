import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { storedRows } from '../support/stored-rows.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const makeSource = (fields: object = {}): Promise<Json> =>
  app.project.post('/sources', { name: 'source', type: 'http', ...fields });

function post(
  source: Json,
  body: string | Buffer,
  headers: Record<string, string> = {},
  query = '',
): Promise<Response> {
  return fetch(`${source.url}${query}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

const eventsOf = async (source: Json): Promise<Json[]> =>
  (await app.project.get(`/events?sourceId=${source.uid}`)).content;

async function listen(source: Json, path: string, subscription: object = {}): Promise<Json> {
  return subscribe(app.project, `${receiver.url}${path}`, {
    subscription: { source_id: source.uid, ...subscription },
  });
}

const arrived = (path: string, count = 1) =>
  eventually(async () => receiver.requests.filter((request) => request.path.startsWith(path)), {
    length: atLeast(count),
  });

// proves Sources: forward_headers
test('a webhook is stored and delivered with its query string, the listed headers and no others', async () => {
  const source = await makeSource();
  await app.project.put(`/sources/${source.uid}`, {
    name: 'source',
    type: 'http',
    forward_headers: ['X-Request-Kind'],
  });
  await listen(source, '/plain');
  const answer = await post(source, '{"n": 1.0}', { 'x-request-kind': 'push', 'x-private': 'no' }, '?page=2');
  expect([answer.status, await answer.json()]).toEqual([
    200,
    { status: true, message: 'Event received', data: 9 },
  ]);
  const [request] = await arrived('/plain');
  expect(request?.path).toBe('/plain?page=2');
  expect(request?.body.toString()).toBe('{"n":1.0}');
  expect(request?.headers['x-request-kind']).toBe('push');
  expect(request?.headers['x-private']).toBeUndefined();
  const [event] = await eventsOf(source);
  expect(event).toMatchObject({
    event_type: source.mask_id,
    source_id: source.uid,
    url_query_params: 'page=2',
    url_path: `/ingest/${source.mask_id}`,
  });
  expect(event.headers['X-Private']).toEqual(['no']);
});

// proves Sources: verifier.hmac.header, verifier.hmac.secret, verifier.hmac.hash, verifier.hmac.encoding
test('a signature over the raw bytes is accepted; with one bit changed nothing is stored', async () => {
  const source = await makeSource({
    verifier: {
      type: 'hmac',
      hmac: { header: 'X-Signature', hash: 'SHA512', encoding: 'base64', secret: 'k' },
    },
  });
  const body = '{ "spaced" :  true }';
  const signature = createHmac('sha512', 'k').update(body).digest('base64');
  expect((await post(source, body, { 'x-signature': signature })).status).toBe(200);
  const refused = await post(source, body.replace('true', 'truE'), { 'x-signature': signature });
  expect([refused.status, ((await refused.json()) as Json).code]).toEqual([400, 'verification_failed']);
  expect((await post(source, body)).status).toBe(400);
  expect((await eventsOf(source)).length).toBe(1);
});

// proves Sources: provider
test('a GitHub push is verified by its preset', async () => {
  const source = await makeSource({
    provider: 'github',
    verifier: { type: 'hmac', hmac: { secret: 'gh', header: '', hash: '', encoding: '' } },
  });
  const body = JSON.stringify({ ref: 'refs/heads/main' });
  const signature = `sha256=${createHmac('sha256', 'gh').update(body).digest('hex')}`;
  expect((await post(source, body, { 'x-hub-signature-256': signature })).status).toBe(200);
  expect((await post(source, `${body} `, { 'x-hub-signature-256': signature })).status).toBe(400);
});

test('a Twitter source answers the challenge and records the time', async () => {
  const source = await makeSource({
    provider: 'twitter',
    verifier: { type: 'hmac', hmac: { secret: 'Convoy', header: '', hash: '', encoding: '' } },
  });
  const answer = await fetch(`${source.url}?crc_token=uzwcfYtzr9`);
  expect([answer.status, await answer.json()]).toEqual([
    200,
    { response_token: 'sha256=HXvxTdsfShG6k2zC9NVANwFquJBdOugRYHax2vNiiOo=' },
  ]);
  const stored = await app.project.get(`/sources/${source.uid}`);
  expect(Date.parse(stored.provider_config.twitter.crc_verified_at)).toBeGreaterThan(0);
  const before = await storedRows(app.database);
  for (let n = 0; n < 3; n++) expect((await fetch(`${source.url}?crc_token=again${n}`)).status).toBe(200);
  expect(await storedRows(app.database)).toEqual(before);
  expect((await fetch(`${(await makeSource()).url}?crc_token=x`)).status).toBe(400);
});

// proves Sources: idempotency_keys
test('one of several equal requests is delivered; the others are stored as duplicates', async () => {
  const source = await makeSource({ idempotency_keys: ['request.body.id', 'request.header.x-tenant'] });
  await listen(source, '/once');
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => post(source, JSON.stringify({ id: n % 4 }), { 'x-tenant': 't' })),
  );
  const messages = await Promise.all(answers.map(async (answer) => ((await answer.json()) as Json).message));
  expect(messages.filter((message) => message === 'Event received').length).toBe(4);
  const stored = (await app.project.get(`/events?perPage=100&sourceId=${source.uid}`)).content as Json[];
  expect(stored.filter((event) => event.is_duplicate_event).length).toBe(36);
  expect((await arrived('/once', 4)).length).toBe(4);
});

test.each([
  ['application/x-www-form-urlencoded', 'a=1&b=%C3%BC', '{"a":"1","b":"ü"}', 'application/json'],
  ['text/plain', 'just text', 'just text', 'text/plain'],
  ['application/json', 'not json {', 'not json {', 'application/json'],
  ['application/json', '', '{}', 'application/json'],
])('a body of %s is delivered as it should be: %s', async (type, body, delivered, deliveredType) => {
  const source = await makeSource();
  const path = `/body-${source.mask_id}`;
  await listen(source, path);
  expect((await post(source, body, { 'content-type': type })).status).toBe(200);
  const [request] = await arrived(path);
  expect(request?.body.toString()).toBe(delivered);
  expect(request?.headers['content-type']).toBe(deliveredType);
});

test('binary bodies arrive byte for byte and show as base64', async () => {
  const source = await makeSource();
  await listen(source, '/binary');
  const bytes = Buffer.from([0, 255, 1, 254, 10]);
  expect((await post(source, bytes, { 'content-type': 'application/octet-stream' })).status).toBe(200);
  expect((await arrived('/binary'))[0]?.body).toEqual(bytes);
  expect((await eventsOf(source))[0].data).toBe(bytes.toString('base64'));
});

test('the limit holds for declared, chunked and compressed bodies, and nothing is stored', async () => {
  const { config } = await app.project.get('');
  await app.project.put('', { name: 'default', config: { max_payload_read_size: 2_000 } });
  const source = await makeSource();
  const large = JSON.stringify({ text: 'x'.repeat(5_000) });
  const chunked = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 10; i++) controller.enqueue(new TextEncoder().encode('x'.repeat(500)));
      controller.close();
    },
  });
  expect((await post(source, large)).status).toBe(413);
  expect(
    (await fetch(source.url, { method: 'POST', body: chunked, duplex: 'half' } as RequestInit)).status,
  ).toBe(413);
  expect((await post(source, gzipSync(large), { 'content-encoding': 'gzip' })).status).toBe(413);
  expect((await post(source, gzipSync('{"small":1}'), { 'content-encoding': 'gzip' })).status).toBe(200);
  expect((await eventsOf(source)).length).toBe(1);
  await app.project.put('', {
    name: 'default',
    config: { max_payload_read_size: config.max_payload_read_size },
  });
});

test('JSON that nests too deep or has too many names is refused, compressed too, and nothing is stored', async () => {
  const source = await makeSource();
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const wide = (names: number) => `[${'{"":0},'.repeat(names)}0]`;
  const code = async (body: string, headers = {}) =>
    ((await (await post(source, body, headers)).json()) as Json).code;
  const gzip = { 'content-encoding': 'gzip' };
  expect(await code(deep(101))).toBe('too_deep');
  expect(await (await post(source, gzipSync(deep(101)), gzip)).json()).toMatchObject({ code: 'too_deep' });
  expect(await code(wide(100_001), { 'content-type': 'application/json' })).toBe('too_many_names');
  expect(await code(deep(101), { 'content-type': 'text/plain' })).toBeUndefined();
  expect(await code(deep(100))).toBeUndefined();
  expect((await eventsOf(source)).length).toBe(2);
});

// proves Sources: custom_response.body, custom_response.content_type
test('a custom response is sent verbatim, to duplicates too', async () => {
  const source = await makeSource({
    custom_response: { body: '<ok/>', content_type: 'application/xml' },
    idempotency_keys: ['request.body.id'],
  });
  for (let n = 0; n < 2; n++) {
    const answer = await post(source, '{"id":1}');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'application/xml',
      '<ok/>',
    ]);
  }
  expect((await eventsOf(source)).map((event) => event.is_duplicate_event)).toEqual([true, false]);
});

test('a response that was stored with another type before is text, and its source can be changed', async () => {
  const source = await makeSource();
  const stored = { body: '<script>1</script>', content_type: 'text/html' };
  await app.database.query('update sources set custom_response = $2 where id = $1', [
    source.uid,
    JSON.stringify(stored),
  ]);
  const renamed = await app.project.put(`/sources/${source.uid}`, { name: 'renamed' });
  expect(renamed).toMatchObject({ name: 'renamed', custom_response: stored });
  const answer = await post(source, '{}');
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'text/plain; charset=utf-8',
    stored.body,
  ]);
  expect((await eventsOf(source)).length).toBe(1);
});

test.each([
  ['a POST', 'POST', 200],
  ['a GET without a challenge', 'GET', 400],
  ['HEAD', 'HEAD', 400],
  ['OPTIONS without an origin', 'OPTIONS', 400],
  ['an unknown source', 'POST', 404, '/ingest/nosuchmask123456'],
  ['a path that cannot be read', 'POST', 404, '/ingest/%zz'],
  ['a path that is too long', 'POST', 404, `/ingest/${'x'.repeat(300)}`],
])(
  'the answer to %s cannot be a page or a script of our origin',
  async (_, method, status, path?: string) => {
    const { url } = await makeSource({ custom_response: { body: '<ok/>', content_type: 'text/xml' } });
    const { answer, headers } = await send(path === undefined ? url : app.url + path, method);
    expect(answer).toBe(status);
    expect(headers).toMatchObject({
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    });
  },
);

/** Sends the path as it is; fetch would tidy it. */
function send(url: string, method: string): Promise<{ answer: number | undefined; headers: object }> {
  const [, host = '', path = ''] = /^http:..([^/]+)(.*)$/.exec(url) ?? [];
  const [hostname, port] = host.split(':');
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method }, (response) => {
      response.resume();
      resolve({ answer: response.statusCode, headers: response.headers });
    });
    sent.on('error', reject).end(method === 'POST' ? '{}' : undefined);
  });
}

// differs Sources: A browser that opens an ingest URL as a page gets 403. No script runs there.
test.each(['document', 'iframe', 'frame', 'embed', 'object'])(
  'a browser that opens the URL as a page (%s) is refused, and nothing is stored',
  async (destination) => {
    const source = await makeSource();
    const headers = { 'sec-fetch-dest': destination };
    const answer = await post(source, '{}', headers);
    expect([answer.status, ((await answer.json()) as Json).code]).toEqual([403, 'navigation_refused']);
    expect((await fetch(source.url, { headers })).status).toBe(403);
    expect(await eventsOf(source)).toEqual([]);
  },
);

// differs Sources: `is_disabled` and `forward_headers` are applied. Functions run for every source type. A body
//   over the limit is 413. Convoy stores the fields, forwards credentials, and cuts bodies.
// proves Sources: body_function, header_function
test('functions of a source change headers and payload before matching; if one fails, the event is stored with the reason', async () => {
  const source = await makeSource({
    header_function: 'function transform(headers) { return { ...headers, "X-Kind": "changed" } }',
    body_function: 'function transform(payload) { return { wrapped: payload } }',
  });
  await app.project.put(`/sources/${source.uid}`, {
    name: 'source',
    type: 'http',
    forward_headers: ['x-kind'],
  });
  await listen(source, '/function');
  await post(source, '{"a":1}');
  const [request] = await arrived('/function');
  expect([request?.json, request?.headers['x-kind']]).toEqual([{ wrapped: { a: 1 } }, 'changed']);

  const failing = await makeSource({ body_function: 'function transform() { throw new Error("bad day") }' });
  expect((await post(failing, '{}')).status).toBe(200);
  const [event] = await eventsOf(failing);
  expect(event.status).toBe('Failure');
  expect(event.failure_reason).toContain('bad day');
});

test('a function of a subscription gets other bodies as a string, and its result is JSON, on retries too', async () => {
  const source = await makeSource();
  await listen(source, '/made-json', {
    function: 'function transform(text) { return { text } }',
    retry_config: { type: 'linear', interval_seconds: 0, retry_count: 3 },
  });
  receiver.answerNext(500);
  await post(source, 'plain words', { 'content-type': 'text/plain' });
  const requests = await arrived('/made-json', 2);
  expect(requests.map((request) => [request.json, request.headers['content-type']])).toEqual([
    [{ text: 'plain words' }, 'application/json'],
    [{ text: 'plain words' }, 'application/json'],
  ]);
  await post(source, Buffer.from([0, 255]), { 'content-type': 'application/octet-stream' });
  expect((await arrived('/made-json', 3))[2]?.json).toEqual({ text: 'AP8=' });
});

// proves Sources: type, is_disabled
test('a disabled source is 403, an unknown mask 404, another type 400; nothing is stored', async () => {
  const source = await makeSource();
  await app.project.put(`/sources/${source.uid}`, { name: 'source', type: 'http', is_disabled: true });
  expect((await post(source, '{}')).status).toBe(403);
  expect((await fetch(`${app.url}/ingest/nosuchmask123456`, { method: 'POST', body: '{}' })).status).toBe(
    404,
  );
  const rest = await app.project.post('/sources', { name: 'rest', type: 'rest_api' });
  expect((await fetch(`${app.url}/ingest/${rest.mask_id}`, { method: 'POST', body: '{}' })).status).toBe(400);
  expect([...(await eventsOf(source)), ...(await eventsOf(rest))]).toEqual([]);
});

test('events by API name a source of type rest_api that is not disabled', async () => {
  const rest = await app.project.post('/sources', { name: 'rest', type: 'rest_api' });
  const send = (source: Json, status: number) =>
    app.project.post('/events/broadcast', { event_type: 'a', data: {}, source_id: source.uid }, status);
  await send(rest, 201);
  await send(await makeSource(), 400);
  await app.project.put(`/sources/${rest.uid}`, { name: 'rest', type: 'rest_api', is_disabled: true });
  await send(rest, 400);
  expect(await eventsOf(rest)).toHaveLength(1);
});

// proves Subscriptions: source_id
test('a subscription with a source gets only events of that source', async () => {
  const [one, two] = [await makeSource(), await makeSource()];
  await listen(one, '/source-one');
  await post(two, '{"from":"two"}');
  await post(one, '{"from":"one"}');
  await app.project.post('/events/broadcast', { event_type: one.mask_id, data: { from: 'api' } });
  expect((await arrived('/source-one')).map((request) => request.json)).toEqual([{ from: 'one' }]);
});

// proves Sources: event_type_location
test('the event type comes from the location in the source settings', async () => {
  const source = await makeSource({ event_type_location: 'request.body.type' });
  await post(source, '{"type":"invoice.paid"}');
  expect((await eventsOf(source))[0].event_type).toBe('invoice.paid');
  const refused = await post(source, '{"other":1}');
  expect(refused.status).toBe(400);
  expect((await eventsOf(source)).length).toBe(1);
});

// proves Subscriptions: filter_config.filter.query, filter_config.filter.path
test('subscriptions with conditions on query and path get the webhooks that meet them', async () => {
  const source = await makeSource();
  const path = new URL(source.url).pathname;
  const met = { query: { kind: 'a' }, path: { path } };
  for (const [name, filter] of Object.entries({
    met,
    query: { ...met, query: { kind: 'b' } },
    path: { ...met, path: { path: '/elsewhere' } },
  })) {
    await listen(source, `/conditions-${name}`, { filter_config: { filter } });
  }
  expect((await post(source, '{}', {}, '?kind=a')).status).toBe(200);
  await arrived('/conditions-');
  const [event] = await eventsOf(source);
  const { content } = await app.project.get(`/eventdeliveries?eventId=${event.uid}`);
  expect(content).toHaveLength(1);
  expect(receiver.requests.filter((request) => request.path.startsWith('/conditions-'))).toMatchObject([
    { path: expect.stringMatching('^/conditions-met') },
  ]);
});

// proves Filters: body, headers, query, path
test('a filter applies its own conditions on body, headers, query and path to webhooks', async () => {
  const source = await makeSource();
  const met = {
    body: { n: 1 },
    headers: { 'x-kind': 'push' },
    query: { page: '2' },
    path: { path: new URL(source.url).pathname },
  };
  const unmet = { body: { n: 2 }, headers: { 'x-kind': 'pull' }, query: { page: '3' }, path: { path: '/' } };
  const listenWith = async (name: string, conditions: object) => {
    const { subscription } = await listen(source, `/own-${name}`);
    const path = `/subscriptions/${subscription.uid}/filters`;
    const [filter] = await app.project.get(path);
    await app.project.put(`${path}/${filter.uid}`, conditions, 200);
  };
  for (const [scope, condition] of Object.entries(unmet))
    await listenWith(scope, { ...met, [scope]: condition });
  await listenWith('met', met);
  await post(source, '{"n":1}', { 'x-kind': 'push' }, '?page=2');
  expect((await arrived('/own-')).map((request) => request.path)).toEqual(['/own-met?page=2']);
  const [event] = await eventsOf(source);
  expect((await app.project.get(`/eventdeliveries?eventId=${event.uid}`)).content).toHaveLength(1);
});
