import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Each delivery that is not over says what it waits for and until when, as text and as a field. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const broken = new Set<string>();

receiver.answerAlways(({ path }, response) => {
  if (path !== '/silent') response.writeHead(broken.has(path) ? 500 : 200).end();
});

const send = (client: ApiClient, eventType: string) =>
  client.post('/events/broadcast', { event_type: eventType, data: {} });

/** The newest delivery of an endpoint, from the list and by itself; the two must agree. */
async function delivery(client: ApiClient, endpointId: string): Promise<Json> {
  const { content } = await client.get(`/eventdeliveries?endpointId=${endpointId}`);
  const single = await client.get(`/eventdeliveries/${content[0].uid}`);
  return { single, listed: content[0] };
}

async function waits(client: ApiClient, endpointId: string, gate: string): Promise<Json> {
  const { single, listed } = await eventually(() => delivery(client, endpointId), {
    single: { waiting_for: { gate } },
    listed: { waiting_for: { gate } },
  });
  expect(listed.description).toBe(single.description);
  expect(listed.metadata.next_send_time).toBe(single.metadata.next_send_time);
  return single;
}

test('a delivery behind an open breaker reports that, its end, and the state of its endpoint', async () => {
  const project = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 100 },
    circuit_breaker: {
      sample_rate: 1,
      error_timeout: 3_600,
      minimum_request_count: 2,
      failure_threshold: 50,
    },
  });
  const { endpoint, subscription } = await subscribe(project, `${receiver.url}/broken`);
  broken.add('/broken');
  await send(project, 'a');
  await shown(project, `/endpoints/${endpoint.uid}`, { cb_state: 'open' });
  await send(project, 'a');
  const waiting = await waits(project, endpoint.uid, 'circuit_breaker');
  const { until } = waiting.waiting_for;
  expect(Date.parse(until)).toBeGreaterThan(Date.now() + 1_000_000);
  expect(waiting.metadata.next_send_time).toBe(until);
  expect(waiting.description).toBe('Paused by the circuit breaker, because the endpoint keeps failing.');
  const { cb_state, failure_rate, events, owner_id } = await project.get(`/endpoints/${endpoint.uid}`);
  expect({ cb_state, failure_rate }).toEqual({ cb_state: 'open', failure_rate: 100 });
  expect(waiting.endpoint_metadata).toMatchObject({ cb_state, failure_rate, events });
  const [listed] = (await project.get('/eventdeliveries')).content;
  expect(listed.endpoint_metadata).toMatchObject({ cb_state, failure_rate, events });
  // The same endpoint as other resources show it.
  const single = await project.get(`/subscriptions/${subscription.uid}`);
  expect(single.endpoint_metadata).toMatchObject({ cb_state, failure_rate, events });
  const [inList] = (await project.get('/subscriptions')).content;
  expect(inList.endpoint_metadata).toMatchObject({ cb_state, failure_rate, events });
  const link = await project.post('/portal-links', {
    name: 'link',
    owner_id: owner_id || 'owner',
    endpoints: [endpoint.uid],
  });
  expect(link.endpoints_metadata[0]).toMatchObject({ cb_state, failure_rate, events });
});

test('a delivery of a paused endpoint waits for the pause to end', async () => {
  const { endpoint } = await subscribe(app.project, `${receiver.url}/paused`, { eventTypes: ['paused'] });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  await send(app.project, 'paused');
  const waiting = await waits(app.project, endpoint.uid, 'paused');
  expect(waiting.waiting_for).toEqual({ gate: 'paused', until: null });
  expect(waiting.description).toBe('Held: the endpoint is paused.');
  expect(waiting.metadata.next_send_time).toBeNull();
});

test.each([
  ['endpoint', { endpoint: { rate_limit: 1, rate_limit_duration: 3_600 } }],
  ['subscription', { subscription: { rate_limit_config: { count: 1, duration: 3_600 } } }],
])('a delivery over the rate limit of its %s names that limit', async (whose, limit) => {
  const type = `limited.${whose}`;
  const { endpoint } = await subscribe(app.project, `${receiver.url}/${type}`, {
    eventTypes: [type],
    ...limit,
  });
  await send(app.project, type);
  await receiver.received(1, `/${type}`);
  await send(app.project, type);
  const waiting = await waits(app.project, endpoint.uid, 'rate_limit');
  expect(waiting.description).toBe(`Held: the rate limit of the ${whose} allows 1 send per 3600 s.`);
});

test('a failed delivery has its reason and the time of the next attempt', async () => {
  broken.add('/failing');
  const { endpoint } = await subscribe(app.project, `${receiver.url}/failing`, { eventTypes: ['failing'] });
  await send(app.project, 'failing');
  const waiting = await waits(app.project, endpoint.uid, 'retry');
  const { until } = waiting.waiting_for;
  expect(until).toBe(waiting.metadata.next_send_time);
  expect(waiting.description).toBe('The endpoint answered 500 Internal Server Error');
});

test('a delivery being sent is marked as such, and an ended one waits for nothing', async () => {
  const { endpoint } = await subscribe(app.project, `${receiver.url}/silent`, { eventTypes: ['silent'] });
  await send(app.project, 'silent');
  const waiting = await waits(app.project, endpoint.uid, 'sending');
  expect(waiting.description).toBe('A node is sending it.');
  const done = await subscribe(app.project, `${receiver.url}/done`, { eventTypes: ['done'] });
  await send(app.project, 'done');
  const { single, listed } = await eventually(() => delivery(app.project, done.endpoint.uid), {
    listed: { status: 'Success' },
    single: { status: 'Success' },
  });
  expect([single.waiting_for, listed.waiting_for, single.description]).toEqual([null, null, '']);
});

test('an event whose deliveries are still being created waits for its expansion', async () => {
  const sent = await send(app.project, 'unmatched');
  expect(sent.waiting_for).toBeNull();
  await app.database.query("update events set status = 'Processing' where id = $1", [sent.uid]);
  const event = await app.project.get(`/events/${sent.uid}`);
  expect(event.waiting_for).toEqual({ gate: 'expansion', until: null });
  const listed = (await app.project.get('/events')).content.find(({ uid }: Json) => uid === sent.uid);
  expect(listed.waiting_for).toEqual({ gate: 'expansion', until: null });
});
