import { beforeAll, expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { completedJob, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** A link that lists event types: `paid` and all that begin with `order.`. Everything went to its own endpoint. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let portal: ApiClient;
let own: { endpoint: Json; subscription: Json };
/** Deliveries by event type. */
let deliveries: Record<string, Json>;

const SEEN = ['order.made', 'paid'];
const HIDDEN = ['order', 'paid.late', 'user.made'];

const link = async (fields: object) => {
  return portalOf(app.project, 'own', fields);
};

beforeAll(async () => {
  receiver.answerAlways(500);
  own = await subscribe(app.project, receiver.url, {
    endpoint: { owner_id: 'own' },
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 0 } },
  });
  for (const event_type of [...SEEN, ...HIDDEN]) {
    await app.project.post('/event-types', { name: event_type });
    await app.project.post('/events', { endpoint_id: own.endpoint.uid, event_type, data: { a: 1 } });
  }
  const { content } = await eventually(
    () => app.project.get('/eventdeliveries'),
    (page) => page.content.length === 5 && page.content.every((one: Json) => one['status'] === 'Failure'),
  );
  deliveries = Object.fromEntries(content.map((one: Json) => [one['event_type'], one]));
  portal = await link({
    event_types: ['paid', 'order.*'],
    can_manage_endpoint: true,
    can_create_events: true,
  });
});

const types = (rows: Json[]) => rows.map((row) => String(row['event_type'] ?? row['name'])).toSorted();
const of = (type: string) => deliveries[type] as Json;

// proves Portal links: event_types
test('event_types: a link sees events, deliveries and attempts of its types alone', async () => {
  for (const path of ['/events', '/eventdeliveries', '/events?query={"a":1}', '/events?query=made'])
    expect([path, types((await portal.get(path)).content)]).toEqual([
      path,
      path.endsWith('made') ? ['order.made'] : SEEN,
    ]);
  expect(types(await portal.get('/event-types'))).toEqual(SEEN);
  for (const [status, names] of [
    [200, SEEN],
    [404, HIDDEN],
  ] as const) {
    for (const { uid, event_id } of names.map(of)) {
      await portal.get(`/events/${event_id}`, status);
      await portal.get(`/eventdeliveries/${uid}`, status);
      await portal.get(`/eventdeliveries/${uid}/deliveryattempts`, status);
      const [attempt] = await app.project.get(`/eventdeliveries/${uid}/deliveryattempts`);
      await portal.get(`/eventdeliveries/${uid}/deliveryattempts/${attempt.uid}`, status);
    }
  }
  const named = await portal.get(`/eventdeliveries?eventType=user.made`);
  expect(named.content).toEqual([]);
  expect((await portal.get('/portal_link')).event_types).toEqual(['paid', 'order.*']);
});

test('it counts its types alone', async () => {
  expect((await portal.get('/eventdeliveries/statustotals')).Failure).toBe(2);
  expect((await portal.get('/events/countbatchreplayevents')).num).toBe(2);
  expect((await portal.get('/eventdeliveries/countbatchretryevents')).num).toBe(2);
  const [rates] = await portal.get(`/endpoints/period-failure-rates?endpointId=${own.endpoint.uid}`);
  expect(rates.failure_count).toBe(2);
  const summary = async (client: ApiClient) => {
    const { events_sent, event_data } = await client.get('/dashboard/summary');
    return [events_sent, event_data[0].successes, event_data[0].failures];
  };
  expect(await summary(app.project)).toEqual([5, 0, 5]);
  expect(await summary(portal)).toEqual([2, 0, 2]);
  const from = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
  expect((await portal.get(`/dashboard/summary?startDate=${from}`)).events_sent).toBe(0);
});

test('it previews a subscription on events of its types alone', async () => {
  const { events } = await portal.post(`/subscriptions/${own.subscription.uid}/preview`, {}, 200);
  expect(types(events)).toEqual(SEEN);
});

test('it subscribes only to its types, and sends only events of its types', async () => {
  const subscription = (...event_types: string[]) => ({
    name: 's',
    endpoint_id: own.endpoint.uid,
    filter_config: { event_types },
  });
  await portal.post('/subscriptions', subscription('order.*', 'order.made', 'paid'));
  for (const type of ['*', 'ord*', 'user.made', 'paid*'])
    expect((await portal.post('/subscriptions', subscription('paid', type), 403)).message).toContain(type);
  const path = `/subscriptions/${own.subscription.uid}`;
  await portal.put(path, { name: 'renamed' });
  await portal.put(path, subscription('user.*'), 403);
  await portal.post(`${path}/filters`, { event_type: 'user.made' }, 403);
  const event = (event_type: string, endpoint_id: string) => ({ endpoint_id, event_type, data: {} });
  await portal.post('/events', event('user.made', own.endpoint.uid), 403);
  const bare = await app.project.post('/endpoints', { name: 'b', url: receiver.url, owner_id: 'own' });
  await portal.post('/events', event('paid', bare.uid), 403);
  await portal.post(`/endpoints/${bare.uid}/test`, undefined, 400);
  expect((await app.project.get(`/subscriptions?endpointId=${bare.uid}`)).content).toEqual([]);
});

test('it resends, retries and replays its types alone, by id and by filter', async () => {
  receiver.answerAlways(200);
  const { uid, event_id } = of('user.made');
  await portal.put(`/eventdeliveries/${uid}/resend`, undefined, 404);
  await portal.put(`/events/${event_id}/replay`, undefined, 404);
  await portal.post('/eventdeliveries/batchretry', undefined, 200);
  const states = async (names: string[]) =>
    Promise.all(
      names.map(async (name) => (await app.project.get(`/eventdeliveries/${of(name).uid}`)).status),
    );
  await eventually(
    () => states(SEEN),
    (all) => all.every((status) => status === 'Success'),
  );
  expect(await states(HIDDEN)).toEqual(['Failure', 'Failure', 'Failure']);
  await app.project.put(`/eventdeliveries/${uid}/resend`, undefined, 200);
  await shown(app.project, `/eventdeliveries/${uid}`, { status: 'Success' });
  await portal.post('/eventdeliveries/forceresend', { ids: [of('paid').uid, uid] }, 400);
  await portal.post('/eventdeliveries/forceresend', { ids: [of('paid').uid] }, 200);
  const { job } = (await (await portal.raw('POST', '/events/batchreplay')).json()) as Json;
  const done = await completedJob(app.project, job);
  expect(done.done).toBe(2);
  const copies = async (name: string) =>
    (await app.project.get(`/eventdeliveries?eventId=${of(name).event_id}`)).content.length;
  expect(await copies('user.made')).toBe(1);
  expect(await copies('order.made')).toBeGreaterThan(1);
});

test('a link that lists no types sees all, and a change applies at once', async () => {
  const wide = await link({});
  expect(types((await wide.get('/event-types')).filter(({ name }: Json) => name !== '*'))).toEqual(
    [...HIDDEN, ...SEEN].toSorted(),
  );
  const { uid } = await wide.get('/portal_link');
  await app.project.put(`/portal-links/${uid}`, { event_types: ['order'] });
  expect(types(await wide.get('/event-types'))).toEqual(['order']);
  await app.project.put(`/portal-links/${uid}`, { event_types: [] });
  await app.project.put(`/portal-links/${uid}`, { name: 'kept' });
  expect((await wide.get('/events/countbatchreplayevents')).num).toBeGreaterThan(2);
});
