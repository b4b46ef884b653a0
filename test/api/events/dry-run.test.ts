import { beforeEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

beforeEach(async () => {
  project = await app.newProject();
  receiver.requests.length = 0;
});

const dry = (path: string, body: object, expected = 200): Promise<Json> =>
  project.post(`${path}${path.includes('?') ? '&' : '?'}dry_run=true`, body, expected);

const idsOf = (page: Json): string[] => page.content.map(({ uid }: Json) => uid).sort();

/** Everything that an event can leave behind. */
const traces = async () => ({
  events: idsOf(await project.get('/events')),
  deliveries: idsOf(await project.get('/eventdeliveries')),
  endpoints: idsOf(await project.get('/endpoints')),
  subscriptions: idsOf(await project.get('/subscriptions')),
});

test('a dry run says who would get the event and why the others would not, and stores nothing', async () => {
  const paid = await subscribe(project, receiver.url, { eventTypes: ['paid'] });
  const other = await subscribe(project, receiver.url, {
    eventTypes: ['lost'],
    endpoint: { owner_id: 'ann' },
  });
  const paused = await subscribe(project, receiver.url, {
    eventTypes: ['paid'],
    endpoint: { owner_id: 'ann' },
  });
  await project.put(`/endpoints/${paused.endpoint.uid}/pause`);
  const before = await traces();
  const body = { event_type: 'paid', data: { n: 1 } };
  const broadcast = await dry('/events/broadcast', body);
  expect(broadcast).toMatchObject({
    event_type: 'paid',
    status: 'Success',
    failure_reason: '',
    duplicate_of: '',
    deliveries: 2,
    changes: [],
  });
  expect(broadcast.endpoints).toEqual([paid.endpoint.uid, paused.endpoint.uid]);
  const whyOf = (answer: Json, { subscription }: Json) => {
    const one = answer.subscriptions.find(({ subscription_id: id }: Json) => id === subscription.uid);
    return [one.matched, one.cause];
  };
  expect(whyOf(broadcast, paid)).toEqual([true, null]);
  expect(whyOf(broadcast, other)).toEqual([false, 'type']);
  expect(whyOf(broadcast, paused)).toEqual([true, 'paused']);
  const fanout = await dry('/events/fanout', { ...body, owner_id: 'ann' });
  expect([fanout.endpoints, whyOf(fanout, paid)]).toEqual([[paused.endpoint.uid], [false, 'target']]);
  const none = await dry('/events/fanout', { ...body, owner_id: 'zoe' });
  expect(none).toMatchObject({
    status: 'Failure',
    failure_reason: 'No endpoint has the owner id zoe.',
    deliveries: 0,
  });
  const direct = await dry('/events', { ...body, endpoint_id: other.endpoint.uid });
  expect(direct).toMatchObject({ status: 'Failure', deliveries: 0, endpoints: [], changes: [] });
  expect(await traces()).toEqual(before);
  expect(receiver.requests).toEqual([]);
  // The call itself sends the event to just those endpoints.
  const sent = await project.post('/events/broadcast', body);
  expect(sent.endpoints).toEqual(broadcast.endpoints);
});

test('a dry run names the config that the call would make, and makes none', async () => {
  const bare = await project.post('/endpoints', { name: 'bare', url: `${receiver.url}/bare` });
  const before = await traces();
  const body = { event_type: 'a', data: 1 };
  const made = { resource: 'subscription', action: 'create', endpoint_id: bare.uid, url: bare.url };
  expect(await dry('/events', { ...body, endpoint_id: bare.uid })).toMatchObject({
    status: 'Success',
    deliveries: 1,
    endpoints: [bare.uid],
    changes: [made],
  });
  expect(await dry('/events/dynamic', { ...body, url: bare.url })).toMatchObject({
    deliveries: 1,
    changes: [made],
  });
  const url = `${receiver.url}/new`;
  expect(await dry('/events/dynamic', { ...body, url })).toMatchObject({
    status: 'Success',
    deliveries: 1,
    endpoints: [],
    changes: [
      { resource: 'endpoint', action: 'create', endpoint_id: '', url },
      { resource: 'subscription', action: 'create', endpoint_id: '', url },
    ],
  });
  expect(await traces()).toEqual(before);
  const dynamic = await project.post('/events/dynamic', { ...body, url });
  const other = { ...body, url, event_types: ['b'] };
  expect(await dry('/events/dynamic', other)).toMatchObject({
    deliveries: 1,
    endpoints: dynamic.endpoints,
    changes: [{ resource: 'subscription', action: 'update', endpoint_id: dynamic.endpoints[0], url }],
  });
  const strict = await app.newProject({ allow_unmatched_dynamic_urls: false });
  expect(await strict.post('/events/dynamic?dry_run=true', { ...body, url }, 200)).toMatchObject({
    status: 'Failure',
    failure_reason: expect.stringContaining('belongs to no endpoint'),
    changes: [],
  });
});

test('a dry run knows a duplicate, and takes nothing from the rate limit of the project', async () => {
  project = await app.newProject({ ratelimit: { count: 1, duration: 3_600 } });
  await subscribe(project, receiver.url);
  const body = { event_type: 'a', data: 1, idempotency_key: 'k' };
  for (let n = 0; n < 3; n++) expect(await dry('/events/broadcast', body)).toMatchObject({ deliveries: 1 });
  const first = await project.post('/events/broadcast', body);
  expect(first.is_duplicate_event).toBe(false);
  const again = await dry('/events/broadcast', body);
  expect(again).toMatchObject({ status: 'Success', duplicate_of: first.uid, deliveries: 0, endpoints: [] });
  expect(again.subscriptions).toMatchObject([{ matched: false, cause: 'duplicate' }]);
  await project.post('/events/broadcast', { ...body, idempotency_key: 'k2' }, 429);
});

test('a dry run runs the functions of the source, and says why one fails', async () => {
  await subscribe(project, receiver.url, {
    subscription: { filter_config: { event_types: ['*'], filter: { body: { made: true } } } },
  });
  const source = await project.post('/sources', {
    name: 's',
    type: 'rest_api',
    body_function: 'function transform(value) { return { made: value.made }; }',
  });
  const send = (made: unknown) =>
    dry('/events/broadcast', { event_type: 'a', data: { made }, source_id: source.uid });
  expect(await send(true)).toMatchObject({ deliveries: 1 });
  expect(await send(false)).toMatchObject({ deliveries: 0, subscriptions: [{ cause: 'filter' }] });
  await project.put(`/sources/${source.uid}`, {
    name: 's',
    type: 'rest_api',
    body_function: 'function transform() { throw new Error("no luck"); }',
  });
  expect(await send(true)).toMatchObject({
    status: 'Failure',
    deliveries: 0,
    failure_reason: expect.stringContaining('no luck'),
  });
  expect((await traces()).events).toEqual([]);
});

test('a dry run refuses what the call refuses, and takes a CloudEvent but no batch', async () => {
  await subscribe(project, receiver.url);
  expect((await dry('/events/broadcast', { data: 1 }, 400)).message).toBe('event_type: is required');
  expect((await dry('/events', { event_type: 'a', data: 1, endpoint_id: 'none' }, 400)).message).toContain(
    'none',
  );
  const late = { event_type: 'a', data: 1, expires_at: '2001-01-01T00:00:00Z' };
  expect((await dry('/events/broadcast', late, 400)).message).toContain('expires_at');
  await project.post('/events/broadcast?dry_run=1', { event_type: 'a', data: 1 }, 400);
  const cloud = { specversion: '1.0', id: '1', source: '/s', type: 'a', data: 1 };
  const send = async (body: unknown, type: string) => {
    const headers = { 'content-type': type };
    const response = await project.raw('POST', '/events/broadcast?dry_run=true', { body, headers });
    return (await response.json()) as Json;
  };
  expect(await send(cloud, 'application/cloudevents+json')).toMatchObject({
    message: 'Dry run: nothing was stored',
    data: { deliveries: 1 },
  });
  expect((await send([cloud], 'application/cloudevents-batch+json')).message).toContain(
    'is for one event, not for a batch',
  );
  expect((await traces()).events).toEqual([]);
});

test('a portal link sees its own endpoints in a dry run only', async () => {
  const own = await subscribe(project, receiver.url, { endpoint: { owner_id: 'ann' } });
  const other = await subscribe(project, receiver.url, { endpoint: { owner_id: 'bob' } });
  const link = { name: 'ann', owner_id: 'ann', can_create_events: true };
  const { token } = await project.post('/portal-links', link);
  const portal = new ApiClient(`${app.url}/portal-api`, token);
  const body = { event_type: 'a', data: 1 };
  const answer = await portal.post('/events?dry_run=true', { ...body, endpoint_id: own.endpoint.uid }, 200);
  expect(answer.endpoints).toEqual([own.endpoint.uid]);
  expect(answer.subscriptions).toMatchObject([{ endpoint_id: own.endpoint.uid, matched: true }]);
  expect(answer.subscriptions).toHaveLength(1);
  await portal.post('/events?dry_run=true', { ...body, endpoint_id: other.endpoint.uid }, 400);
});
