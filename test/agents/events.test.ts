import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { newestDelivery } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { Callback, trust } from './callback.ts';

/** MCP Events on the wire: what a subscription is, who may have one, and callbacks that mean harm. */
const MOST = 6;
const app = await shared(
  startTestApp({ POSTHORN_MCP: 'on', POSTHORN_MCP_SUBSCRIPTIONS: String(MOST), ...trust }),
);
const callback = await shared(Callback.start());
const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

async function newProject(): Promise<ApiClient> {
  const project = await app.newProject();
  const json_schema = {
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['open', 'paid'] },
      customer: { type: 'object' },
      amount: {},
    },
  };
  await project.post('/event-types', { name: 'invoice.paid', description: 'It was paid.', json_schema });
  await project.post('/event-types', { name: 'order.made' });
  return project;
}

interface From {
  key?: string;
  query?: string;
  url?: string;
}

async function rpc(project: ApiClient, method: string, params: object, from: From = {}): Promise<Json> {
  const { key = project.key, query = '', url = app.url } = from;
  const answer = await fetch(`${url}/mcp${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return answer.json();
}

const wanted = (path: string, more: object = {}): Json => ({
  name: 'invoice.paid',
  arguments: {},
  delivery: { mode: 'webhook', url: callback.url + path, secret: newSecret() },
  cursor: null,
  ...more,
});

const subscribe = (project: ApiClient, params: Json, from: From = {}) =>
  rpc(project, 'events/subscribe', params, from);
const endpointsOf = async (project: ApiClient): Promise<Json[]> => (await project.get('/endpoints')).content;
const broadcast = (project: ApiClient, data: Json, event_type = 'invoice.paid') =>
  project.post('/events/broadcast', { event_type, data });

function isSigned(request: { headers: Json; body: Buffer }, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = request.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${at}.`).update(request.body).digest('base64');
  return given.split(' ').includes(`v1,${signature}`);
}

test('events are the event types of the project, with their schemas', async () => {
  const project = await newProject();
  await project.post('/event-types', { name: 'old.one' });
  const old = (await project.get('/event-types')).find(({ name }: Json) => name === 'old.one');
  await project.post(`/event-types/${old.uid}/deprecate`, {}, 201);
  const { result } = await rpc(project, 'events/list', {});
  expect(result.events.map(({ name }: Json) => name)).toEqual(['invoice.paid', 'order.made']);
  expect(result.events[0]).toMatchObject({
    description: 'It was paid.',
    delivery: ['webhook'],
    inputSchema: {
      type: 'object',
      properties: { status: { anyOf: [{ type: 'string', enum: ['open', 'paid'] }, {}] } },
    },
    payloadSchema: { type: 'object', properties: { amount: {} } },
  });
  expect((await rpc(project, 'events/list', { cursor: 'invoice.paid' })).result.events.length).toBe(1);
  expect((await rpc(project, 'events/list', { cursor: 5 })).error.code).toBe(-32602);
});

test('a subscription is an endpoint of the owner; its deliveries have the body and headers of the draft', async () => {
  const project = await newProject();
  const params = wanted('/first', { arguments: { status: 'paid', 'customer.id': 7 }, ttlMs: 120_000 });
  const { result } = await subscribe(project, params, { query: '?owner_id=acme' });
  expect(result).toMatchObject({
    id: expect.stringMatching(/^sub_[0-9a-f]{32}$/),
    cursor: null,
    truncated: false,
  });
  const [challenge] = callback.challenges('/first') as [Json];
  expect(challenge.headers['webhook-id']).toMatch(/^msg_verification_/);
  expect(challenge.headers['x-mcp-subscription-id']).toBe(result.id);
  expect(isSigned(challenge, params.delivery.secret)).toBe(true);
  const [endpoint] = await endpointsOf(project);
  expect(endpoint).toMatchObject({
    owner_id: 'acme',
    status: 'active',
    metadata: { agent: 'mcp', agent_subscription: result.id },
    expires_at: result.refreshBefore,
    final_status_codes: [410, 413],
    max_body_bytes: 262_144,
  });
  const event = await broadcast(project, { status: 'paid', customer: { id: 7 }, amount: 1.5 });
  await broadcast(project, { status: 'open', customer: { id: 7 } });
  await broadcast(project, { status: 'paid', customer: { id: 7 } }, 'order.made');
  const [received] = (await callback.received('/first', 1)) as [Json];
  expect(received.json).toEqual({
    eventId: event.uid,
    name: 'invoice.paid',
    timestamp: event.created_at,
    data: { status: 'paid', customer: { id: 7 }, amount: 1.5 },
    cursor: null,
  });
  expect(received.headers).toMatchObject({
    'webhook-id': event.uid,
    'x-mcp-subscription-id': result.id,
    'content-type': 'application/json',
  });
  expect(isSigned(received, params.delivery.secret)).toBe(true);
  await newestDelivery(project, `eventId=${event.uid}`, 'Success');
  expect(callback.events('/first').length).toBe(1);
  const { content } = await project.get('/audit?action=endpoint.created');
  expect(content[0].actor).toMatchObject({ type: 'api_key', via: 'mcp/events/subscribe' });
});

test('the same call is a refresh, also many at a time on two nodes; the order of arguments does not count', async () => {
  const project = await newProject();
  const node = await app.addNode();
  const params = wanted('/same', { arguments: { status: 'paid', amount: 1 }, ttlMs: 60_000 });
  const turned = { ...params, arguments: { amount: 1, status: 'paid' }, ttlMs: 600_000 };
  const calls = Array.from({ length: 8 }, (_, n) =>
    subscribe(project, n % 2 === 0 ? params : turned, { url: n % 3 === 0 ? node.url : app.url }),
  );
  const ids = new Set((await Promise.all(calls)).map((answer) => answer.result?.id ?? answer.error));
  expect(ids.size).toBe(1);
  expect((await endpointsOf(project)).length).toBe(1);
  expect((await project.get('/subscriptions')).content.length).toBe(1);
  const asked = callback.challenges('/same').length;
  const { result } = await subscribe(project, turned);
  expect(ids).toContain(result.id);
  expect(result.deliveryStatus).toEqual({ active: true, lastDeliveryAt: null, lastError: null });
  expect(callback.challenges('/same').length).toBe(asked);
  const other = await subscribe(project, { ...params, arguments: { status: 'open' } });
  expect(ids).not.toContain(other.result.id);
  // The callback was verified for the same caller.
  expect(callback.challenges('/same').length).toBe(asked);
});

test('another secret signs at once, and the old one signs along', async () => {
  const project = await newProject();
  const params = wanted('/rotated');
  await subscribe(project, params);
  const next = newSecret();
  for (const secret of [newSecret(), newSecret(), next])
    await subscribe(project, { ...params, delivery: { ...params.delivery, secret } });
  await broadcast(project, {});
  const [received] = (await callback.received('/rotated', 1)) as [Json];
  expect(isSigned(received, next)).toBe(true);
  expect(received.headers['webhook-signature'].split(' ').length).toBe(2);
  expect((await endpointsOf(project))[0].secrets.length).toBe(2);
});

test('unsubscribing removes it, and a second time changes nothing', async () => {
  const project = await newProject();
  const params = wanted('/left');
  await subscribe(project, params);
  const { name, arguments: args, delivery } = params;
  const key = { name, arguments: args, delivery: { url: delivery.url } };
  expect(
    (await rpc(project, 'events/unsubscribe', { ...key, arguments: { status: 'paid' } })).result,
  ).toBeDefined();
  expect((await endpointsOf(project)).length).toBe(1);
  for (let i = 0; i < 2; i++) expect((await rpc(project, 'events/unsubscribe', key)).result).toBeDefined();
  expect(await endpointsOf(project)).toEqual([]);
});

describe('refused, and nothing is stored:', () => {
  const cases: [string, object, number][] = [
    ['an unknown event', { name: 'no.such' }, -32011],
    ['no name', { name: '' }, -32602],
    ['arguments that are a list', { arguments: [] }, -32602],
    ['an argument that the payload cannot have', { arguments: { colour: 'red' } }, -32602],
    ['an unknown operator', { arguments: { amount: { $near: 1 } } }, -32602],
    ['a time to live that is none', { ttlMs: -1 }, -32602],
    ['no delivery', { delivery: null }, -32602],
  ];
  const deliveries: [string, object, number][] = [
    ['another mode', { mode: 'push' }, -32014],
    ['plain http', { url: 'http://localhost:9/' }, -32602],
    ['no URL', { url: 'somewhere' }, -32602],
    ['credentials in the URL', { url: 'https://a:b@localhost:9/' }, -32602],
    ['a fragment', { url: 'https://localhost:9/#a' }, -32602],
    ['link-local metadata', { url: 'https://169.254.169.254/latest' }, -32602],
    ['a short secret', { secret: `whsec_${randomBytes(16).toString('base64')}` }, -32602],
    ['a long secret', { secret: `whsec_${randomBytes(65).toString('base64')}` }, -32602],
    ['a plain secret', { secret: 'correct horse battery staple' }, -32602],
    ['no secret', { secret: undefined }, -32602],
  ];
  const all = [
    ...cases.map(([what, more, code]) => [what, () => wanted('/refused', more), code] as const),
    ...deliveries.map(
      ([what, more, code]) =>
        [
          what,
          () => wanted('/refused', { delivery: { ...wanted('/refused').delivery, ...more } }),
          code,
        ] as const,
    ),
  ];
  test.each(all)('%s', async (_what, params, code) => {
    const project = await newProject();
    expect((await subscribe(project, params())).error.code).toBe(code);
    expect(await endpointsOf(project)).toEqual([]);
    expect(callback.challenges('/refused')).toEqual([]);
  });
});

describe('a callback that', () => {
  callback.answer('/wrong', (_received, response) => response.end('{"challenge":"guessed"}'));
  callback.answer('/silent', () => {});
  callback.answer('/moved', (_received, response) =>
    response.writeHead(307, { location: `${callback.url}/target` }).end(),
  );
  callback.answer('/refusing', (_received, response) => response.writeHead(403).end());
  callback.answer('/broken', (_received, response) => response.writeHead(500).end());
  callback.answer('/flooding', ({ json }, response) =>
    response.end(`{"challenge":"${json.challenge}","more":"${'x'.repeat(1_000_000)}"}`),
  );
  test.each([
    ['echoes another challenge', '/wrong', 'challenge_failed'],
    ['redirects', '/moved', 'challenge_failed'],
    ['answers too much', '/flooding', 'challenge_failed'],
    ['refuses', '/refusing', 'http_4xx'],
    ['is broken', '/broken', 'http_5xx'],
    ['does not answer', '/silent', 'timeout'],
  ])('%s gets no subscription', async (_what, path, reason) => {
    const project = await newProject();
    const { error } = await subscribe(project, wanted(path));
    expect([error.code, error.data]).toEqual([-32015, { reason }]);
    expect(await endpointsOf(project)).toEqual([]);
    expect(callback.challenges(path).length).toBe(1);
    expect(callback.challenges('/target')).toEqual([]);
  });

  test('is at a private address is not called, by number or by name', async () => {
    const project = await newProject();
    const node = await app.addNode({ POSTHORN_EGRESS: 'public' });
    const at = (host: string) => {
      const params = wanted('/private');
      return {
        ...params,
        delivery: { ...params.delivery, url: params.delivery.url.replace('localhost', host) },
      };
    };
    const byNumber = await subscribe(project, at('127.0.0.1'), node);
    expect(byNumber.error.code).toBe(-32602);
    const byName = await subscribe(project, at('localhost'), node);
    expect([-32602, -32015]).toContain(byName.error.code);
    expect(callback.challenges('/private')).toEqual([]);
    expect(await endpointsOf(project)).toEqual([]);
  });

  test('has a certificate of another is not trusted', async () => {
    const project = await newProject();
    const params = wanted('/certificate');
    const url = params.delivery.url.replace('localhost', '127.0.0.2');
    const { error } = await subscribe(project, { ...params, delivery: { ...params.delivery, url } });
    expect(error.code).toBe(-32015);
    expect(['tls_error', 'connection_refused']).toContain(error.data.reason);
  });

  test('says 410 or 413 gets no second try; 410 ends it until the agent refreshes', async () => {
    const project = await newProject();
    const gone = wanted('/gone');
    const full = wanted('/full');
    for (const params of [gone, full]) await subscribe(project, params);
    callback.answer('/gone', (_received, response) => response.writeHead(410).end());
    callback.answer('/full', (_received, response) => response.writeHead(413).end());
    const event = await broadcast(project, {});
    const { content } = await eventually(() => project.get(`/eventdeliveries?eventId=${event.uid}`), {
      content: every({ status: 'Failure' }),
    });
    expect(content.map(({ metadata }: Json) => metadata.num_trials)).toEqual([1, 1]);
    const stateOf = async () => {
      const rows = await endpointsOf(project);
      return rows.find(({ url }) => url.endsWith('/gone')).status;
    };
    await eventually(stateOf, 'inactive');
    const { result } = await subscribe(project, gone);
    expect(result.deliveryStatus).toMatchObject({ active: true, lastError: 'http_4xx' });
    expect(await stateOf()).toBe('active');
  });

  test('would get more than 256 KiB gets nothing', async () => {
    const project = await newProject();
    await subscribe(project, wanted('/large'));
    const event = await broadcast(project, { text: 'x'.repeat(262_144) });
    const failed = await newestDelivery(project, `eventId=${event.uid}`, 'Failure');
    expect(failed.description).toContain('262144');
    expect(callback.events('/large')).toEqual([]);
  });
});

test('a call of the API that is refused within a method is a refusal of that method', async () => {
  const project = await newProject();
  const node = await app.addNode({ POSTHORN_API_RATE: '1' });
  // The request counts one call and its look at the event types another.
  const { error } = await eventually(
    () => subscribe(project, wanted('/rate'), node),
    ({ result, code }) => result === undefined && code !== 'rate_limited',
  );
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('(rate_limited)') });
  expect(callback.challenges('/rate')).toEqual([]);
});

// proves Instance: POSTHORN_MCP_SUBSCRIPTIONS
test('an owner has a bounded number of them, also when asked for many at once; lapsed ones make room', async () => {
  const project = await newProject();
  await subscribe(project, wanted('/many', { name: 'order.made' }), { query: '?owner_id=acme' });
  const calls = Array.from({ length: MOST + 4 }, (_, n) =>
    subscribe(project, wanted('/many', { name: 'order.made', arguments: { n } }), {
      query: '?owner_id=acme',
    }),
  );
  const answers = await Promise.all(calls);
  const refused = answers.filter(({ error }) => error !== undefined);
  expect(refused.map(({ error }) => [error.code, error.data])).toEqual(
    Array.from({ length: 5 }, () => [-32013, { limit: 'subscriptions', max: MOST }]),
  );
  expect((await endpointsOf(project)).length).toBe(MOST);
  const other = await subscribe(project, wanted('/many'), { query: '?owner_id=globex' });
  expect(other.error).toBeUndefined();
  const rows = (await project.get('/endpoints?ownerId=acme')).content;
  const soon = () => new Date(Date.now() + 3_000).toISOString();
  for (const { uid } of rows.slice(0, 2)) await project.put(`/endpoints/${uid}`, { expires_at: soon() });
  const late = wanted('/many', { name: 'order.made', arguments: { n: 'late' } });
  await eventually(
    () => endpointsOf(project),
    (all) => all.filter(({ status }) => status === 'inactive').length === 2,
  );
  const { result } = await subscribe(project, late, { query: '?owner_id=acme' });
  expect(result.id).toMatch(/^sub_/);
  expect((await project.get('/endpoints?ownerId=acme')).content.length).toBe(MOST - 1);
});

test('only those who may change endpoints subscribe, and each for itself', async () => {
  const project = await newProject();
  const viewer = (await project.post('/keys', { name: 'v', role: 'viewer' })).key;
  const link = async (fields: object) =>
    (await project.post('/portal-links', { name: 'l', owner_id: 'acme', ...fields })).token;
  const params = wanted('/access');
  for (const key of [viewer, await link({})]) {
    expect((await subscribe(project, params, { key })).error.code).toBe(-32012);
    expect((await rpc(project, 'events/unsubscribe', params, { key })).error.code).toBe(-32012);
    expect((await rpc(project, 'events/list', {}, { key })).result.events.length).toBe(2);
  }
  const narrow = await link({ can_manage_endpoint: true, event_types: ['order.made'] });
  expect(
    (await rpc(project, 'events/list', {}, { key: narrow })).result.events.map(({ name }: Json) => name),
  ).toEqual(['order.made']);
  expect((await subscribe(project, params, { key: narrow })).error.code).toBe(-32011);
  const own = await link({ can_manage_endpoint: true });
  // The owner is that of the link, whatever the address says.
  const mine = await subscribe(project, params, { key: own, query: '?owner_id=globex' });
  const theirs = await subscribe(project, params, { query: '?owner_id=acme' });
  expect(mine.result.id).not.toBe(theirs.result.id);
  expect((await endpointsOf(project)).map(({ owner_id }) => owner_id)).toEqual(['acme', 'acme']);
  await rpc(project, 'events/unsubscribe', params, { key: own });
  expect((await endpointsOf(project)).map(({ metadata }) => metadata.agent_subscription)).toEqual([
    theirs.result.id,
  ]);
  const unsigned = await app.newProject({ signature: { schemes: ['convoy'] } });
  await unsigned.post('/event-types', { name: 'invoice.paid' });
  expect((await subscribe(unsigned, params)).error).toMatchObject({
    code: -32014,
    data: { feature: 'signature' },
  });
});
