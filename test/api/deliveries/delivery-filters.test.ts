import { beforeAll, expect, test } from 'vitest';
import { deliveryGates } from '../../../src/domain/delivery.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** Lists of deliveries by what they wait for, by the result of their last attempt, by customer and by text. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
receiver.answerAlways(({ path }, response) => {
  if (path === '/silent') return;
  response.writeHead({ '/broken': 500, '/busy': 503, '/nothing': 204 }[path] ?? 200).end();
});

let project: ApiClient;
const endpoints: Record<string, Json> = {};

beforeAll(async () => {
  project = await app.newProject({
    strategy: { type: 'linear', duration: 3_600, retry_count: 2 },
    circuit_breaker: { minimum_request_count: 100 },
  });
  const add = async (
    name: string,
    options: { url?: string; endpoint?: object; subscription?: object } = {},
  ) => {
    const made = await subscribe(project, options.url ?? `${receiver.url}/${name}`, {
      eventTypes: [name],
      endpoint: { name: `${name} endpoint`, ...options.endpoint },
      ...(options.subscription !== undefined && { subscription: options.subscription }),
    });
    endpoints[name] = made.endpoint;
  };
  await add('paused', { endpoint: { owner_id: 'Acme' } });
  await add('limited', { endpoint: { rate_limit: 1, rate_limit_duration: 3_600, owner_id: 'Acme' } });
  await add('limited-too', { subscription: { rate_limit_config: { count: 1, duration: 3_600 } } });
  await add('broken');
  await add('busy', { subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 0 } } });
  await add('silent', { endpoint: { http_timeout: 120 } });
  await add('nothing');
  await add('refused', { url: 'http://127.0.0.1:1/' });
  await add('thrown', { subscription: { function: 'function transform() { throw new Error("no way") }' } });
  await project.put(`/endpoints/${endpoints['paused'].uid}/pause`);
  for (const type of [
    'paused',
    'limited',
    'limited',
    'limited-too',
    'limited-too',
    'broken',
    'busy',
    'silent',
    'nothing',
    'refused',
    'thrown',
  ])
    await project.post('/events/broadcast', { event_type: type, data: {} });
  await shown(project, '/eventdeliveries/waitingtotals', { node: 0, retry: 2, sending: 1, rate_limit: 2 });
});

async function typesOf(query: string): Promise<string[]> {
  const { content } = await project.get(`/eventdeliveries?${query}`);
  return content.map((row: Json) => row.event_type).sort();
}

test('deliveries are listed and counted by what they wait for, as each of them says', async () => {
  const { content } = await project.get('/eventdeliveries?perPage=100');
  const totals = await project.get('/eventdeliveries/waitingtotals');
  expect(totals).toEqual({
    complete: true,
    moving: 0,
    pending: 0,
    paused: 1,
    circuit_breaker: 0,
    rate_limit: 2,
    delayed: 0,
    batch: 0,
    retry: 2,
    order: 0,
    sending: 1,
    pull: 0,
    node: 0,
  });
  for (const gate of deliveryGates) {
    const waiting = content.filter((row: Json) => row.waiting_for?.gate === gate);
    const listed = await project.get(`/eventdeliveries?waitingFor=${gate}`);
    expect(listed.content.map((row: Json) => row.uid)).toEqual(waiting.map((row: Json) => row.uid));
    expect(totals[gate]).toBe(waiting.length);
  }
  expect(await typesOf('waitingFor=paused&waitingFor=retry')).toEqual(['broken', 'paused', 'refused']);
  expect(await typesOf(`waitingFor=retry&endpointId=${endpoints['broken'].uid}`)).toEqual(['broken']);
});

test('an open and a half open breaker hold their deliveries in lists too', async () => {
  const settings = { sample_rate: 1, error_timeout: 3_600, minimum_request_count: 1, failure_threshold: 1 };
  const strategy = { type: 'linear', duration: 1, retry_count: 100 };
  const guarded = await app.newProject({ strategy, circuit_breaker: settings });
  const { endpoint } = await subscribe(guarded, `${receiver.url}/broken`);
  await guarded.post('/events/broadcast', { event_type: 'a', data: {} });
  await shown(guarded, `/endpoints/${endpoint.uid}`, { cb_state: 'open' });
  await guarded.post('/events/broadcast', { event_type: 'b', data: {} });
  const held = await eventually(() => guarded.get('/eventdeliveries?waitingFor=circuit_breaker'), {
    content: { length: 2 },
  });
  expect(held.content.map((row: Json) => row.waiting_for.gate)).toEqual([
    'circuit_breaker',
    'circuit_breaker',
  ]);
  expect((await guarded.get('/eventdeliveries/waitingtotals')).circuit_breaker).toBe(2);
});

test('deliveries are listed by the result of their last attempt', async () => {
  expect(await typesOf('outcome=http_500')).toEqual(['broken']);
  expect(await typesOf('outcome=http_5xx')).toEqual(['broken', 'busy']);
  expect(await typesOf('outcome=http_204&outcome=connection_refused')).toEqual(['nothing', 'refused']);
  expect(await typesOf('outcome=not_sent&status=Failure')).toEqual(['thrown']);
  expect(await typesOf('outcome=timeout')).toEqual([]);
  const [busy] = (await project.get('/eventdeliveries?outcome=http_503')).content;
  expect({ status: busy.status, last_outcome: busy.last_outcome }).toEqual({
    status: 'Failure',
    last_outcome: 'http_503',
  });
  const [paused] = (await project.get('/eventdeliveries?waitingFor=paused')).content;
  expect(paused.last_outcome).toBe('');
});

test('deliveries are listed by customer', async () => {
  expect(await typesOf('ownerId=Acme')).toEqual(['limited', 'limited', 'paused']);
  expect(await typesOf(`ownerId=Acme&endpointId=${endpoints['paused'].uid}`)).toEqual(['paused']);
  expect(await typesOf(`ownerId=Acme&endpointId=${endpoints['broken'].uid}`)).toEqual([]);
  expect(await typesOf('ownerId=unknown')).toEqual([]);
});

test('deliveries are found by text: type, reason, endpoint, owner and id', async () => {
  expect(await typesOf('query=LIMITED-')).toEqual(['limited-too', 'limited-too']);
  expect(await typesOf('query=Internal%20Server')).toEqual(['broken']);
  expect(await typesOf('query=no%20way')).toEqual(['thrown']);
  expect(await typesOf('query=Broken%20endpoint')).toEqual(['broken']);
  expect(await typesOf('query=acme')).toEqual(['limited', 'limited', 'paused']);
  const [paused] = (await project.get('/eventdeliveries?waitingFor=paused')).content;
  expect(await typesOf(`query=${paused.uid.toLowerCase()}`)).toEqual(['paused']);
  expect(await typesOf(`query=${paused.event_id}`)).toEqual(['paused']);
  expect(await typesOf(`query=${paused.uid.slice(0, 24)}`)).toContain('paused');
  expect(await typesOf('query=%25')).toEqual([]);
});

test('an unknown word in a filter is refused', async () => {
  for (const query of [
    'waitingFor=luck',
    'outcome=http_5',
    'outcome=bad',
    'waitingFor=paused&waitingFor=x',
  ]) {
    const refusal = await project.get(`/eventdeliveries?${query}`, 400);
    expect(refusal.code).toBe('bad_query');
  }
  expect((await project.get('/eventdeliveries?waitingFor=&outcome=')).content).toHaveLength(11);
});

test('a project and a portal see nothing of others in filters and counts', async () => {
  const other = await app.newProject();
  expect((await other.get('/eventdeliveries?waitingFor=paused')).content).toEqual([]);
  expect((await other.get('/eventdeliveries?query=paused')).content).toEqual([]);
  const [paused] = (await project.get('/eventdeliveries?waitingFor=paused')).content;
  expect((await other.get(`/eventdeliveries?query=${paused.event_id}`)).content).toEqual([]);
  expect((await other.get('/eventdeliveries/waitingtotals')).paused).toBe(0);
  const link = await project.post('/portal-links', {
    name: 'acme',
    owner_id: 'Acme',
    can_manage_endpoint: false,
  });
  const portal = new ApiClient(`${app.url}/portal-api`, link.token);
  expect(await portal.get('/eventdeliveries/waitingtotals')).toMatchObject({
    paused: 1,
    rate_limit: 1,
    retry: 0,
    sending: 0,
  });
  expect((await portal.get('/eventdeliveries?query=broken')).content).toEqual([]);
  await new ApiClient(portal.base, `${link.token}x`).get('/eventdeliveries/waitingtotals', 401);
});
