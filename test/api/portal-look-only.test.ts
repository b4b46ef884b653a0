import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { Receiver } from '../support/receiver.ts';
import { shared } from '../support/shared.ts';

/** Every operation of openapi.json, called with a link that has no right beyond looking. */
const document = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')) as Json;
const METHODS = ['get', 'post', 'put', 'delete'];

/** Operations of a read-only link other than GET: testing, repeating an earlier send, and taking deliveries that wait. */
const OPEN = new Set([
  'testEndpoint',
  'pullEndpoint',
  'reportResults',
  'testFilter',
  'testSubscriptionFunction',
  'tryFilters',
  'previewSubscription',
  'replayEvent',
  'batchReplayEvents',
  'resendEventDelivery',
  'forceResendEventDeliveries',
  'batchRetryEventDeliveries',
]);

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let looker: ApiClient;
let ids: Record<string, string>;

beforeAll(async () => {
  const { endpoint, subscription } = await subscribe(app.project, receiver.url, {
    endpoint: { owner_id: 'own' },
  });
  const link = await app.project.post('/portal-links', { name: 'look', owner_id: 'own' });
  looker = new ApiClient(app.url, link.token);
  ids = { projectID: app.projectId, endpointID: endpoint.uid, subscriptionID: subscription.uid };
});

const operations = Object.entries(document['paths'] as Json).flatMap(([path, methods]) =>
  Object.entries(methods as Json)
    .filter(([method]) => METHODS.includes(method))
    .map(([method, { operationId }]: [string, Json]) => ({ path, method, id: operationId as string })),
);

const isOfApi = ({ path }: { path: string }) => /^\/(api|portal-api)\//.test(path);

const config = () =>
  app.database.query(
    `select (select json_agg(e) from endpoints e) as endpoints, (select json_agg(s) from subscriptions s) as subscriptions,
       (select json_agg(l) from portal_links l) as links, (select version from projects where id = $1) as version,
       (select count(*) from events) as events`,
    [app.projectId],
  );

test('a read-only link is refused every operation that changes something or sends an event', async () => {
  const changing = operations.filter(
    (one) => isOfApi(one) && one.method !== 'get' && !OPEN.has(one.id.replace(/InPortal$/, '')),
  );
  expect(changing.length).toBeGreaterThan(50);
  const before = await config();
  for (const { path, method, id } of changing) {
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown');
    const response = await looker.raw(method.toUpperCase(), url, { body: {} });
    expect(`${response.status} ${id}`).toBe(`403 ${id}`);
  }
  expect(await config()).toEqual(before);
});

test('its allowed operations other than reads exist, and are not refused', async () => {
  const open = operations.filter((one) => isOfApi(one) && OPEN.has(one.id));
  expect(new Set(open.map(({ id }) => id))).toEqual(OPEN);
  for (const { path, method, id } of open) {
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown');
    const { status } = await looker.raw(method.toUpperCase(), url, { body: {} });
    expect(status, id).not.toBe(403);
  }
});

test('new events need can_create_events, changes need can_manage_endpoint, and neither implies the other', async () => {
  const client = async (rights: object) => {
    const link = await app.project.post('/portal-links', { name: 'l', owner_id: 'own', ...rights });
    return new ApiClient(`${app.url}/portal-api`, link.token);
  };
  const event = { endpoint_id: ids['endpointID'], event_type: 'a', data: {} };
  const subscription = { name: 's', endpoint_id: ids['endpointID'] };
  const sender = await client({ can_create_events: true });
  await sender.post('/events', event);
  expect((await sender.post('/subscriptions', subscription, 403)).code).toBe('portal_forbidden');
  const manager = await client({ can_manage_endpoint: true });
  await manager.post('/subscriptions', subscription);
  expect((await manager.post('/events', event, 403)).message).toContain('new events');
});

test('a read-only link tests its own endpoint, and a test creates no subscription for it', async () => {
  const own = new ApiClient(`${app.url}/portal-api`, looker.key);
  const attempt = await own.post(`/endpoints/${ids['endpointID']}/test`, undefined, 200);
  expect(attempt.status).toBe(true);
  expect(attempt.request_http_header['Content-Type']).toBe('***');
  const other = await subscribe(app.project, receiver.url, { endpoint: { owner_id: 'other' } });
  await own.post(`/endpoints/${other.endpoint.uid}/test`, undefined, 404);
  const bare = await app.project.post('/endpoints', { name: 'bare', url: receiver.url, owner_id: 'own' });
  const received = receiver.requests.length;
  expect((await own.post(`/endpoints/${bare.uid}/test`, undefined, 400)).code).toBe('wrong_state');
  expect((await app.project.get(`/subscriptions?endpointId=${bare.uid}`)).content).toEqual([]);
  expect(receiver.requests.length).toBe(received);
});
