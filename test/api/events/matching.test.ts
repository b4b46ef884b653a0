import { afterEach, beforeEach, expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
let receiver: Receiver;
let client: ApiClient;
beforeEach(async () => {
  receiver = await Receiver.start();
  client = await app.newProject();
});
afterEach(() => receiver.stop());

const broadcast = (event_type: string, data: unknown, more: object = {}): Promise<Json> =>
  client.post('/events/broadcast', { event_type, data, ...more });
const filtered = (event_types: string[], filter: object) => ({
  subscription: { filter_config: { event_types, filter } },
});

/** The paths at which the receiver was called, once nothing is on its way any more. */
async function paths(): Promise<string[]> {
  const project = client.projectId;
  const count = 'select count(*)::int as count from delivery_queue where project_id = $1';
  const open = () => app.database.query(count, [project]);
  await eventually(open, [{ count: 0 }]);
  return receiver.requests.map((request) => request.path).sort();
}

// proves Subscriptions: filter_config.filter.body
test('only subscriptions whose body filter holds get an event', async () => {
  await subscribe(
    client,
    `${receiver.url}/adults`,
    filtered(['*'], { body: { person: { age: { $gte: 18 } } } }),
  );
  await subscribe(
    client,
    `${receiver.url}/children`,
    filtered(['*'], { body: { 'person.age': { $lt: 18 } } }),
  );
  await subscribe(client, `${receiver.url}/all`);
  const event = await broadcast('born', { person: { age: 30 } });
  expect(event).toMatchObject({ status: 'Success' });
  expect(event.endpoints).toHaveLength(2);
  expect(await paths()).toEqual(['/adults', '/all']);
});

// proves Subscriptions: filter_config.filter.headers
test('only subscriptions whose header filter holds get an event, in any case of the name', async () => {
  await subscribe(client, `${receiver.url}/eu`, filtered(['*'], { headers: { 'X-REGION': 'eu' } }));
  await subscribe(client, `${receiver.url}/us`, filtered(['*'], { headers: { 'X-Region': 'us' } }));
  await broadcast('t', {}, { custom_headers: { 'x-Region': 'eu' } });
  expect(await paths()).toEqual(['/eu']);
});

test('an event that matches no filter is stored as failed with the reason', async () => {
  await subscribe(client, receiver.url, filtered(['*'], { body: { a: 1 } }));
  const event = await broadcast('t', { a: 2 });
  expect(event).toMatchObject({ status: 'Failure', endpoints: [] });
  expect(event.failure_reason).toBe('No active subscription matched this event.');
  expect(await paths()).toEqual([]);
});

test('a filter that needs too much work does not match, and the event says so', async () => {
  const $or = Array.from({ length: 100 }, (_, n) => ({ 'list.$.x': n + 1 }));
  await subscribe(client, receiver.url, filtered(['*'], { body: { $or } }));
  const list = Array.from({ length: 60_000 }, () => ({ x: 0 }));
  const event = await broadcast('t', { list });
  expect(event.failure_reason).toMatch(/Filters that needed more work .*: 1\.$/);
});

// proves Subscriptions: endpoint_id, filter_config.event_types
test('globs and exact names match as subscribed', async () => {
  for (const type of ['invoice.*', 'invoice.paid', '*', 'order.*'])
    await subscribe(client, `${receiver.url}/${type}`, { eventTypes: [type] });
  await broadcast('invoice.paid', {});
  expect(await paths()).toEqual(['/*', '/invoice.*', '/invoice.paid']);
});

// proves Filters: event_type, enabled_at
test('the most specific enabled record for a type decides', async () => {
  const { subscription } = await subscribe(
    client,
    receiver.url,
    filtered(['*', 'a.*', 'a.b'], { body: { go: 'all' } }),
  );
  const path = `/subscriptions/${subscription.uid}/filters`;
  const [star, glob, exact]: Json[] = await client.get(path);
  const set = (filter: Json, body: object) => client.put(`${path}/${filter.uid}`, body, 200);
  await set(glob, { body: { go: 'glob' } });
  await set(exact, { body: { go: 'exact' } });
  const matches = async (go: string) => (await broadcast('a.b', { go })).status === 'Success';

  expect([await matches('exact'), await matches('glob'), await matches('all')]).toEqual([true, false, false]);
  await set(exact, { enabled_at: null });
  expect([await matches('exact'), await matches('glob'), await matches('all')]).toEqual([false, true, false]);
  await set(glob, { enabled_at: null });
  expect([await matches('exact'), await matches('glob'), await matches('all')]).toEqual([false, false, true]);
  await set(star, { enabled_at: null });
  expect([await matches('exact'), await matches('glob'), await matches('all')]).toEqual([
    false,
    false,
    false,
  ]);
  await set(exact, { enabled_at: '2026-01-01T00:00:00Z' });
  expect(await matches('exact')).toBe(true);
  await client.delete(`${path}/${exact.uid}`);
  expect(await matches('exact')).toBe(false);
});

test('a subscription whose records all match gets an event once', async () => {
  await subscribe(client, receiver.url, { eventTypes: ['*', 'a.*', 'a.b'] });
  await broadcast('a.b', {});
  expect(await paths()).toEqual(['/']);
});

// differs Events and deliveries: A broadcast makes one delivery per endpoint, by its oldest matching
//   subscription. The interface says so.
test('a broadcast goes once to an endpoint, through its oldest matching subscription', async () => {
  const { endpoint } = await subscribe(client, receiver.url, filtered(['*'], { body: { a: 1 } }));
  const passes = await client.post('/subscriptions', { name: 'second', endpoint_id: endpoint.uid });
  await client.post('/subscriptions', { name: 'third', endpoint_id: endpoint.uid });
  const event = await broadcast('t', { a: 2 });
  expect(await paths()).toEqual(['/']);
  const { content } = await client.get(`/eventdeliveries?eventId=${event.uid}`);
  expect(content.map((delivery: Json) => delivery.subscription_id)).toEqual([passes.uid]);
});

test('an inactive subscription matches nothing until it is activated again', async () => {
  const { subscription } = await subscribe(client, receiver.url);
  await client.put(`/subscriptions/${subscription.uid}/toggle_status`);
  expect((await broadcast('t', {})).status).toBe('Failure');
  await client.put(`/subscriptions/${subscription.uid}/toggle_status`);
  expect((await broadcast('t', {})).status).toBe('Success');
});

test('changed filters apply to the next event', async () => {
  const { subscription } = await subscribe(client, receiver.url, filtered(['t'], { body: { v: 1 } }));
  expect((await broadcast('t', { v: 2 })).status).toBe('Failure');
  await client.put(`/subscriptions/${subscription.uid}`, { filter_config: { filter: { body: { v: 2 } } } });
  expect((await broadcast('t', { v: 2 })).status).toBe('Success');
  await client.put(`/subscriptions/${subscription.uid}`, { filter_config: { event_types: ['u'] } });
  expect((await broadcast('t', { v: 2 })).status).toBe('Failure');
});

test('filters see the payload as it was sent, arrays and scalars at the root included', async () => {
  await subscribe(client, `${receiver.url}/array`, filtered(['*'], { body: { '$.kind': 'x' } }));
  await subscribe(client, `${receiver.url}/any`, filtered(['*'], { body: { kind: { $exist: false } } }));
  await broadcast('t', [{ kind: 'x' }]);
  await broadcast('t', 'text');
  expect(await paths()).toEqual(['/any', '/any', '/array']);
});

test('an explanation names the first reason for each subscription', async () => {
  const source = await client.post('/sources', { name: 'src', type: 'rest_api' });
  const make = (name: string, subscription: object = {}) =>
    subscribe(client, receiver.url, { subscription: { name, ...subscription } });
  await make('taken');
  await make('type', { filter_config: { event_types: ['other'] } });
  await make('filter', { filter_config: { filter: { body: { a: { b: 1 } } } } });
  await make('sourced', { source_id: source.uid });
  const off = await make('off');
  await client.put(`/subscriptions/${off.subscription.uid}/toggle_status`);
  const paused = await make('paused');
  const event = await broadcast('t', { a: { b: 2 } }, { idempotency_key: 'k' });
  await paths();
  await client.put(`/endpoints/${paused.endpoint.uid}/pause`);

  const explained = await client.get(`/events/${event.uid}/explain`);
  expect(explained).toMatchObject({ event_id: event.uid, event_type: 't' });
  const byName = Object.fromEntries(explained.subscriptions.map((item: Json) => [item.name, item]));
  const verdicts = Object.entries<Json>(byName).map(([name, item]) => [name, item.matched, item.cause]);
  expect(verdicts).toEqual([
    ['taken', true, null],
    ['type', false, 'type'],
    ['filter', false, 'filter'],
    ['sourced', false, 'source'],
    ['off', false, 'inactive'],
    ['paused', true, 'paused'],
  ]);
  expect(byName['filter']).toMatchObject({
    reason: 'a.b is 2, not 1.',
    filter_id: expect.any(String),
    clause: { scope: 'body', path: 'a.b', operator: '$eq', expected: 1, actual: 2 },
  });

  const duplicate = await broadcast('t', {}, { idempotency_key: 'k' });
  const again = await client.get(`/events/${duplicate.uid}/explain`);
  expect(new Set(again.subscriptions.map((item: Json) => item.cause))).toEqual(new Set(['duplicate']));
});

test('an explanation considers whom the event was sent to, as matching does', async () => {
  const make = (name: string, endpoint: object, path = name) =>
    subscribe(client, `${receiver.url}/${path}`, { endpoint, subscription: { name } });
  const acme = await make('acme', { owner_id: 'acme' });
  const other = await make('other', { owner_id: 'other' });
  await client.post('/subscriptions', { name: 'second', endpoint_id: acme.endpoint.uid });
  const loose = await make('loose', {});
  const off = await make('off', { owner_id: 'other' });
  await client.put(`/subscriptions/${off.subscription.uid}/toggle_status`);
  const explained = async (path: string, body: object) => {
    const event = await client.post(`/events${path}`, { event_type: 't', data: {}, ...body });
    const { subscriptions } = await client.get(`/events/${event.uid}/explain`);
    const matched = subscriptions.filter((item: Json) => item.matched).map((item: Json) => item.name);
    const { content } = await client.get(`/eventdeliveries?eventId=${event.uid}`);
    const names = new Map(subscriptions.map((item: Json) => [item.subscription_id, item.name]));
    expect(matched.sort()).toEqual(content.map((row: Json) => names.get(row.subscription_id)).sort());
    return Object.fromEntries(
      subscriptions
        .filter((item: Json) => !item.matched)
        .map((item: Json) => [item.name, `${item.cause}: ${item.reason}`]),
    );
  };
  const toAcme = 'target: The event was sent to endpoints of owner acme.';
  expect(await explained('/fanout', { owner_id: 'acme' })).toEqual({
    other: `${toAcme} This one belongs to other.`,
    loose: `${toAcme} This one has no owner.`,
    off: `${toAcme} This one belongs to other.`,
  });
  const toOne = `target: The event was sent to endpoint ${other.endpoint.uid} only.`;
  expect(await explained('', { endpoint_id: other.endpoint.uid })).toEqual({
    acme: toOne,
    second: toOne,
    loose: toOne,
    off: toOne,
  });
  expect(await explained('/broadcast', {})).toEqual({
    off: 'inactive: The subscription is inactive.',
    second: `target: A broadcast makes one delivery per endpoint. The older subscription ${acme.subscription.uid} takes it.`,
  });
  // A dynamic event passes the filters of its one subscription.
  await client.put(`/subscriptions/${loose.subscription.uid}`, { filter_config: { event_types: ['x'] } });
  const dynamic = `target: The event was sent to a URL, through subscription ${loose.subscription.uid} only.`;
  expect(await explained('/dynamic', { url: loose.endpoint.url })).toEqual({
    acme: dynamic,
    other: dynamic,
    second: dynamic,
    off: dynamic,
  });
  await client.put('', { config: { allow_unmatched_dynamic_urls: false } });
  const url = `${receiver.url}/nowhere`;
  const nowhere = `target: The event was sent to the URL ${url} only, which is no endpoint's.`;
  expect(Object.values(await explained('/dynamic', { url }))).toEqual(Array(5).fill(nowhere));
});

test('an explanation follows the source, headers, query and path that the event came with', async () => {
  const source = await httpSource(client);
  await subscribe(client, receiver.url, {
    subscription: {
      source_id: source.uid,
      filter_config: { filter: { headers: { h: '1' }, query: { q: '2' }, path: { path: '/in' } } },
    },
  });
  const event = await broadcast('t', {});
  const matched = async () => (await client.get(`/events/${event.uid}/explain`)).subscriptions[0].matched;
  expect(await matched()).toBe(false);
  await app.database.query(
    `update events set source_id = $2, headers = '{"H":["1"]}', url_query_params = 'q=2', url_path = '/in' where id = $1`,
    [event.uid, source.uid],
  );
  expect(await matched()).toBe(true);
});

test('a payload that is not JSON passes no body filter, and the explanation says why', async () => {
  await subscribe(client, receiver.url, filtered(['*'], { body: { a: 1 } }));
  const event = await broadcast('t', { a: 1 });
  await app.database.query(
    `update events set payload = '<a>1</a>', content_type = 'text/xml' where id = $1`,
    [event.uid],
  );
  const { subscriptions } = await client.get(`/events/${event.uid}/explain`);
  expect(subscriptions[0]).toMatchObject({
    matched: false,
    cause: 'filter',
    reason: expect.stringContaining('not JSON'),
  });
});

test('events of another project and unknown events are not explained', async () => {
  const event = await broadcast('t', {});
  await app.project.get(`/events/${event.uid}/explain`, 404);
  await client.get('/events/nope/explain', 404);
});

test('a second node uses filters changed on the first', async () => {
  const { subscription } = await subscribe(client, receiver.url, filtered(['t'], { body: { v: 1 } }));
  const node = await app.addNode();
  const second = new ApiClient(client.base.replace(app.url, node.url), client.key);
  expect((await second.post('/events/broadcast', { event_type: 't', data: { v: 2 } })).status).toBe(
    'Failure',
  );
  const [filter]: Json[] = await client.get(`/subscriptions/${subscription.uid}/filters`);
  await client.put(`/subscriptions/${subscription.uid}/filters/${filter.uid}`, { body: { v: 2 } }, 200);
  expect((await second.post('/events/broadcast', { event_type: 't', data: { v: 2 } })).status).toBe(
    'Success',
  );
});
