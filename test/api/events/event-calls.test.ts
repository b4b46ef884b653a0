import { beforeEach, expect, test } from 'vitest';
import { httpSource, portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { eventually, every } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { completedJob } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

/** A project of its own for each test. */
beforeEach(async () => {
  project = await app.newProject();
  receiver.requests.length = 0;
  receiver.answerAlways(200);
});

const deliveriesOf = async (eventId: string): Promise<Json[]> =>
  (await project.get(`/eventdeliveries?eventId=${eventId}`)).content;

const uids = (page: Json): string[] => page.content.map((item: Json) => item.uid);

// proves Endpoints: owner_id
test('a fan-out goes to the endpoints of its owner only', async () => {
  const mine = await subscribe(project, `${receiver.url}/mine`, { endpoint: { owner_id: 'ann' } });
  await subscribe(project, `${receiver.url}/other`, { endpoint: { owner_id: 'bob' } });
  const event = await project.post('/events/fanout', { owner_id: 'ann', event_type: 'a', data: { n: 1 } });
  expect(event).toMatchObject({ status: 'Success', endpoints: [mine.endpoint.uid], owner_ids: ['ann'] });
  await receiver.received(1);
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/mine']);
});

test('a fan-out to an unknown owner is stored as failed with the reason', async () => {
  const event = await project.post('/events/fanout', { owner_id: 'unknown', event_type: 'a', data: 1 });
  expect(event).toMatchObject({ status: 'Failure', failure_reason: 'No endpoint has the owner id unknown.' });
  expect(await project.get(`/events/${event.uid}`)).toMatchObject({
    status: 'Failure',
    endpoints: [],
    owner_ids: ['unknown'],
  });
});

test('an event names the customers whom it went to, and a portal link sees none of them', async () => {
  const own = await app.newProject();
  for (const owner_id of ['ann', 'bob', '']) await subscribe(own, receiver.url, { endpoint: { owner_id } });
  const event = await own.post('/events/broadcast', { event_type: 'a', data: 1 });
  expect(event.owner_ids).toEqual(['ann', 'bob']);
  const { content } = await own.get('/events?ownerId=bob');
  expect(content).toMatchObject([{ uid: event.uid, owner_ids: ['ann', 'bob'] }]);
  const portal = await portalOf(own, 'bob');
  expect(await portal.get(`/events/${event.uid}`)).toMatchObject({ owner_ids: [] });
});

test('a fan-out without an owner or type names both fields', async () => {
  const { message, fields } = await project.post('/events/fanout', { data: 1 }, 400);
  expect(message).toBe('owner_id: is required; event_type: is required');
  expect(fields).toEqual([
    { field: 'owner_id', problem: 'is required' },
    { field: 'event_type', problem: 'is required' },
  ]);
});

test('a dynamic event creates its endpoint and subscription once and always arrives', async () => {
  const url = `${receiver.url}/dynamic`;
  const events = await Promise.all(
    [1, 2, 3].map((n) =>
      project.post('/events/dynamic', { url, secret: 's3cret', event_type: `t${n}`, data: n }),
    ),
  );
  await receiver.received(3);
  const { content: endpoints } = await project.get('/endpoints');
  expect(endpoints).toHaveLength(1);
  expect(endpoints[0]).toMatchObject({ url, name: `endpoint-${endpoints[0].uid}`, status: 'active' });
  expect(endpoints[0].secrets[0].value).toBe('s3cret');
  const { content: subscriptions } = await project.get('/subscriptions');
  expect(subscriptions.map((s: Json) => s.name)).toEqual([`dynamic-subscription-${endpoints[0].uid}`]);
  expect(new Set(events.flatMap((event) => event.endpoints))).toEqual(new Set([endpoints[0].uid]));
});

test('a dynamic event passes the filter of the endpoint it finds, and may change its event types', async () => {
  const { endpoint, subscription } = await subscribe(project, `${receiver.url}/known`, {
    eventTypes: ['only.this'],
  });
  await project.post('/events/dynamic', { url: endpoint.url, event_type: 'other', data: {} });
  await receiver.received(1);
  await project.post('/events/dynamic', {
    url: endpoint.url,
    event_type: 'other',
    event_types: ['x', 'y'],
    data: {},
  });
  await receiver.received(2);
  const changed = await project.get(`/subscriptions/${subscription.uid}`);
  expect(changed.filter_config.event_types).toEqual(['x', 'y']);
  expect((await project.get('/endpoints')).content).toHaveLength(1);
});

// proves Projects: allow_unmatched_dynamic_urls
test('if new URLs are not allowed a dynamic event is stored as failed, and can be replayed once there is an endpoint', async () => {
  project = await app.newProject({ allow_unmatched_dynamic_urls: false });
  const url = `${receiver.url}/later`;
  const event = await project.post('/events/dynamic', { url, event_type: 'a', data: {} });
  expect(event.status).toBe('Failure');
  expect(event.failure_reason).toContain('belongs to no endpoint');
  await subscribe(project, url, { eventTypes: ['unrelated'] });
  const replayed = await project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(replayed).toMatchObject({ status: 'Success' });
  expect(replayed.failure_reason).toBeUndefined();
  await receiver.received(1);
});

test.each(['http://169.254.169.254/latest', 'http://[::ffff:169.254.169.254]/', 'http://0xa9fea9fe/'])(
  'a dynamic event to %s, which the egress rule forbids, is stored as failed, or refused with verify_dynamic_events',
  async (url) => {
    const event = { url, event_type: 'a', data: {} };
    const stored = await project.post('/events/dynamic', event);
    expect(stored).toMatchObject({ status: 'Failure', endpoints: [] });
    expect(stored.failure_reason).toMatch(/: \S+ is an? /);
    await project.put(`/events/${stored.uid}/replay`, undefined, 200);
    expect((await project.get('/eventdeliveries')).content).toEqual([]);
    expect((await project.get('/endpoints')).content).toEqual([]);
    await project.put('', { config: { verify_dynamic_events: true } });
    const { code, message } = await project.post('/events/dynamic', event, 400);
    expect([code, message]).toEqual(['validation_failed', expect.stringMatching(/^url: \S+ is an? /)]);
    expect((await project.get('/events')).content).toHaveLength(1);
  },
);

test('a dynamic event to what is no http URL is refused', async () => {
  const body = { url: 'ftp://127.0.0.1/', event_type: 'a', data: {} };
  const { message } = await project.post('/events/dynamic', body, 400);
  expect(message).toBe('url: must be an http or https URL with a host');
});

// proves Projects: verify_dynamic_events
test('with verify_dynamic_events a URL that cannot be delivered to is refused and nothing is stored', async () => {
  const secureOnly = { ssl: { enforce_secure_endpoints: true } };
  project = await app.newProject({ ...secureOnly, verify_dynamic_events: true });
  const insecure = { url: `${receiver.url}/insecure`, event_type: 'a', data: {} };
  expect((await project.post('/events/dynamic', insecure, 400)).message).toContain(
    'url: must start with https',
  );
  expect((await project.get('/events')).content).toEqual([]);
  project = await app.newProject(secureOnly);
  expect(await project.post('/events/dynamic', insecure)).toMatchObject({ status: 'Failure', endpoints: [] });
});

test('metadata is stored with an event, and a custom header for the key makes the key required', async () => {
  const event = await project.post('/events/broadcast', { event_type: 'a', data: 1, metadata: 'note' });
  expect(event.metadata).toBe('note');
  project = await app.newProject({ request_id_header: 'X-Mine' });
  for (const [path, more] of [
    ['/events/broadcast', {}],
    ['/events/fanout', { owner_id: 'a' }],
    ['/events/dynamic', { url: `${receiver.url}/k` }],
  ] as const) {
    const body = { event_type: 'a', data: 1, ...more };
    expect((await project.post(path, body, 400)).message).toContain('idempotency_key');
    await project.post(path, { ...body, idempotency_key: path });
  }
});

test('an event names a source of type rest_api, whose failed function is run again by a replay', async () => {
  const http = await httpSource(project, { name: 'http' });
  const failing = {
    name: 'api',
    type: 'rest_api',
    body_function: 'function transform(p) { throw new Error("no") }',
  };
  const source = await project.post('/sources', failing);
  await subscribe(project, receiver.url);
  const send = (sourceId: string, status: number) =>
    project.post('/events/broadcast', { event_type: 'a', data: { n: 1 }, source_id: sourceId }, status);
  expect((await send('nothing', 400)).code).toBe('not_in_project');
  expect((await send(http.uid, 400)).message).toContain('rest_api');
  const event = await send(source.uid, 201);
  expect(event).toMatchObject({ source_id: source.uid, status: 'Failure', data: { n: 1 } });
  const still = await project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(still.status).toBe('Failure');
  const body_function = 'function transform(p) { return { doubled: p.n * 2 } }';
  await project.put(`/sources/${source.uid}`, { ...failing, body_function });
  const replayed = await project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(replayed).toMatchObject({ status: 'Success', data: { doubled: 2 } });
  await receiver.received(1);
  expect(receiver.requests[0]?.json).toEqual({ doubled: 2 });
  expect(uids(await project.get(`/events?sourceId=${source.uid}`))).toEqual([event.uid]);
});

test('events are found by part of the type or key, by the beginning of the id, and by payload content', async () => {
  const { endpoint } = await subscribe(project, receiver.url, {
    endpoint: { owner_id: 'ann' },
    eventTypes: ['invoice.paid'],
  });
  const invoice = await project.post('/events/broadcast', {
    event_type: 'invoice.paid',
    data: { order: { id: 7, tags: ['x', 'y'] }, name: 'Zoë' },
    idempotency_key: 'Key-ABC',
    custom_headers: { 'x-broker-message-id': 'm-1' },
  });
  const other = await project.post('/events/broadcast', {
    event_type: 'user.made',
    data: { text: 'a\u0000b', order: { id: 8 } },
  });
  const search = async (query: Record<string, string>) =>
    uids(await project.get(`/events?${new URLSearchParams(query).toString()}`));
  expect(await search({})).toEqual([other.uid, invoice.uid]);
  expect(await search({ query: 'VOICE' })).toEqual([invoice.uid]);
  expect(await search({ query: 'key-ab' })).toEqual([invoice.uid]);
  expect(await search({ query: invoice.uid.toLowerCase() })).toEqual([invoice.uid]);
  expect(await search({ query: other.uid.slice(0, 24) })).toContain(other.uid);
  expect(await search({ query: '%' })).toEqual([]);
  expect(await search({ body: '{"order":{"id":8}}' })).toEqual([other.uid]);
  expect(await search({ body: '{"order":{"tags":["y"]}}' })).toEqual([invoice.uid]);
  expect(await search({ query: '{"name":"Zoë"}' })).toEqual([invoice.uid]);
  expect(await search({ query: '{"name":"Zoë"}', body: '{"order":{"id":8}}' })).toEqual([]);
  expect(await search({ body: '{"text":"a\\u0000b"}' })).toEqual([other.uid]);
  expect(await search({ ownerId: 'ann' })).toEqual([invoice.uid]);
  expect(await search({ ownerId: 'unknown' })).toEqual([]);
  expect(await search({ endpointId: endpoint.uid })).toEqual([invoice.uid]);
  expect(await search({ idempotencyKey: 'Key-ABC' })).toEqual([invoice.uid]);
  expect(await search({ brokerMessageId: 'm-1' })).toEqual([invoice.uid]);
  expect(await search({ brokerMessageId: 'm' })).toEqual([]);
  for (const body of ['nonsense', '{}', '[1]', '"x"'])
    expect((await project.get(`/events?body=${encodeURIComponent(body)}`, 400)).code).toBe('bad_query');
});

// differs Lists: A search in payloads without dates is bound by `search_policy`, as Convoy documents.
// proves Projects: search_policy
test('a payload search is paged both ways and reaches back as far as the search policy', async () => {
  for (const n of [1, 2, 3, 4, 5])
    await project.post('/events/broadcast', { event_type: 'a', data: { odd: n % 2 === 1, n } });
  const body = encodeURIComponent('{"odd":true}');
  const first = await project.get(`/events?body=${body}&perPage=2`);
  expect(first.content.map((event: Json) => event.data.n)).toEqual([5, 3]);
  expect(first.pagination).toMatchObject({ has_next_page: true, has_prev_page: false });
  const next = await project.get(
    `/events?body=${body}&perPage=2&next_page_cursor=${first.pagination.next_page_cursor}`,
  );
  expect(next.content.map((event: Json) => event.data.n)).toEqual([1]);
  expect(next.pagination).toMatchObject({ has_next_page: false, has_prev_page: true });
  const back = await project.get(
    `/events?body=${body}&perPage=2&direction=prev&prev_page_cursor=${next.pagination.prev_page_cursor}`,
  );
  expect(uids(back)).toEqual(uids(first));
  const me = await app.instance.get(`/projects/${project.projectId}`);
  await app.instance.put(`/projects/${me.uid}`, { name: me.name, config: { search_policy: '1ms' } });
  expect((await project.get(`/events?body=${body}`)).content).toEqual([]);
  expect((await project.get(`/events?body=${body}&startDate=2020-01-01T00:00:00`)).content).toHaveLength(3);
  expect((await project.get('/events')).content).toHaveLength(5);
});

// differs Events and deliveries: An event may have `metadata` and a `source_id`. Replay matches again; in Convoy
//   it does nothing for a finished event.
test('a replay matches again and creates new deliveries that name the event', async () => {
  const event = await project.post('/events/broadcast', { event_type: 'a', data: { n: 1 } });
  expect(event.status).toBe('Failure');
  const { endpoint } = await subscribe(project, receiver.url);
  const replayed = await project.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(replayed).toMatchObject({ uid: event.uid, status: 'Success', endpoints: [endpoint.uid] });
  await receiver.received(1);
  await project.put(`/events/${event.uid}/replay`, undefined, 200);
  await receiver.received(2);
  const deliveries = await eventually(() => deliveriesOf(event.uid), every({ status: 'Success' }, 2));
  expect(new Set(deliveries.map((delivery) => delivery.uid)).size).toBe(2);
  expect((await project.put('/events/01ARZ3NDEKTSV4RRFFQ69G5FAV/replay', undefined, 404)).code).toBe(
    'not_found',
  );
});

test('a replay goes only to the owner of the original event', async () => {
  await subscribe(project, `${receiver.url}/ann`, { endpoint: { owner_id: 'ann' } });
  await subscribe(project, `${receiver.url}/bob`, { endpoint: { owner_id: 'bob' } });
  const event = await project.post('/events/fanout', { owner_id: 'ann', event_type: 'a', data: {} });
  await receiver.received(1);
  await project.put(`/events/${event.uid}/replay`, undefined, 200);
  await receiver.received(2);
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/ann', '/ann']);
});

test('a batch replay sends matching events, skips duplicates and reports as a job', async () => {
  await subscribe(project, receiver.url, { eventTypes: ['a'] });
  for (const n of [1, 2, 3])
    await project.post('/events/broadcast', { event_type: 'a', data: { n }, idempotency_key: `k${n}` });
  await project.post('/events/broadcast', { event_type: 'a', data: { n: 1 }, idempotency_key: 'k1' });
  await project.post('/events/broadcast', { event_type: 'unmatched', data: {} });
  await receiver.received(3);
  expect(await project.get('/events/countbatchreplayevents')).toEqual({ num: 4 });
  const { job } = (await (await project.raw('POST', '/events/batchreplay')).json()) as Json;
  expect(job).toMatchObject({ type: 'batch_replay', total: 4, done: 0 });
  await receiver.received(6);
  const done = await completedJob(project, job);
  expect(done).toMatchObject({ total: 4, done: 3, failed: 1, error: '' });
  expect(uids(await project.get('/jobs'))).toEqual([job.uid]);
  for (const path of ['/events/countbatchreplayevents', '/events/batchreplay']) {
    const method = path.endsWith('batchreplay') ? 'POST' : 'GET';
    const answer = await project.call(method, `${path}?query=abc`, { expected: 400 });
    expect(answer.code).toBe('bad_query');
  }
});

test('one project cannot read or change another', async () => {
  await subscribe(project, receiver.url);
  const event = await project.post('/events/broadcast', { event_type: 'a', data: { secret: 1 } });
  const [delivery] = await deliveriesOf(event.uid);
  const { job } = (await (await project.raw('POST', '/events/batchreplay')).json()) as Json;
  const { content } = await project.get('/endpoints');
  const stranger = await app.newProject();
  const missing: [string, string][] = [
    ['GET', `/events/${event.uid}`],
    ['PUT', `/events/${event.uid}/replay`],
    ['PUT', `/eventdeliveries/${delivery?.uid}/resend`],
    ['GET', `/jobs/${job.uid}`],
    ['PUT', `/jobs/${job.uid}/cancel`],
    ['POST', `/endpoints/${content[0].uid}/test`],
  ];
  for (const [method, path] of missing) {
    expect((await stranger.call(method, path, { expected: 404 })).code).toBe('not_found');
  }
  expect((await stranger.get('/events?query=a')).content).toEqual([]);
  expect((await stranger.get(`/events?body=${encodeURIComponent('{"secret":1}')}`)).content).toEqual([]);
  expect((await stranger.get(`/eventdeliveries?endpointId=${content[0].uid}`)).content).toEqual([]);
  expect((await stranger.get('/jobs')).content).toEqual([]);
  expect(await stranger.get('/eventdeliveries/statustotals')).toMatchObject({ Success: 0, Scheduled: 0 });
  const answer = await stranger.post('/eventdeliveries/forceresend', { ids: [delivery?.uid] }, 400);
  expect(answer.code).toBe('not_in_project');
});
