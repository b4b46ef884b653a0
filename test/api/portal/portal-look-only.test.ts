import { beforeAll, expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { operations, pathWith } from '../../support/operations/documented.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** Every operation of openapi.json, called with a link that has no right beyond looking. */
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
  'sendNowEventDeliveries',
]);

/** The operations that need can_retry. */
const SENDING = new Set([
  'testEndpoint',
  'replayEvent',
  'batchReplayEvents',
  'resendEventDelivery',
  'forceResendEventDeliveries',
  'batchRetryEventDeliveries',
  'sendNowEventDeliveries',
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

const ofApi = operations.filter(({ path }) => /^\/(api|portal-api)\//.test(path));
const open = ofApi.filter(({ id }) => OPEN.has(id));

const config = () =>
  app.database.query(
    `select (select json_agg(e) from endpoints e) as endpoints, (select json_agg(s) from subscriptions s) as subscriptions,
       (select json_agg(l) from portal_links l) as links, (select version from projects where id = $1) as version,
       (select count(*) from events) as events`,
    [app.projectId],
  );

test('a read-only link is refused every operation that changes something or sends an event', async () => {
  const changing = ofApi.filter(({ method, caseId }) => method !== 'GET' && !OPEN.has(caseId));
  expect(changing.length).toBeGreaterThan(50);
  const before = await config();
  for (const operation of changing) {
    const response = await looker.raw(operation.method, pathWith(operation, ids), { body: {} });
    expect(`${response.status} ${operation.id}`).toBe(`403 ${operation.id}`);
  }
  expect(await config()).toEqual(before);
});

test('its allowed operations other than reads exist, and are not refused', async () => {
  expect(new Set(open.map(({ id }) => id))).toEqual(OPEN);
  for (const operation of open) {
    const { status } = await looker.raw(operation.method, pathWith(operation, ids), { body: {} });
    expect(status, operation.id).not.toBe(403);
  }
});

const client = async (rights: object) => {
  return portalOf(app.project, 'own', rights);
};

// proves Portal links: can_retry
test('a link with can_retry false is refused every send, and takes what waits', async () => {
  const { key } = await client({ can_retry: false, can_manage_endpoint: true });
  const link = new ApiClient(app.url, key);
  for (const operation of open) {
    const { status } = await link.raw(operation.method, pathWith(operation, ids), { body: {} });
    expect(`${operation.id} ${status === 403}`).toBe(`${operation.id} ${SENDING.has(operation.id)}`);
  }
});

// proves Portal links: can_see_secrets
test('secrets show by can_see_secrets, which is as can_manage_endpoint unless it is set', async () => {
  const manage = { can_manage_endpoint: true };
  for (const [rights, shown] of [
    [{}, false],
    [manage, true],
    [{ ...manage, can_see_secrets: false }, false],
    [{ can_see_secrets: true }, true],
  ] as const) {
    const { secrets, standard_webhooks_secret } = await (await client(rights)).get(
      `/endpoints/${ids['endpointID']}`,
    );
    expect([secrets.length > 0, standard_webhooks_secret !== '']).toEqual([shown, shown]);
  }
});

test('a link that may manage and not see secrets rolls none, and sends no stored credentials elsewhere', async () => {
  const authentication = { type: 'api_key', api_key: { header_name: 'X-Mine', header_value: 'hush' } };
  const body = { name: 'with a key', url: `${receiver.url}/first`, owner_id: 'own', authentication };
  const { uid } = await app.project.post('/endpoints', body);
  const link = await client({ can_manage_endpoint: true, can_see_secrets: false });
  const url = `${receiver.url}/elsewhere`;
  const received = receiver.requests.length;
  await link.put(`/endpoints/${uid}/expire_secret`, { expiration: 60 }, 403);
  await link.put(`/endpoints/${uid}`, { secret: 'one of mine' }, 403);
  expect((await link.put(`/endpoints/${uid}`, { url }, 403)).code).toBe('portal_forbidden');
  await link.post('/endpoints/test', { endpoint_id: uid, endpoint: { url } }, 403);
  expect(receiver.requests.length).toBe(received);
  expect((await link.put(`/endpoints/${uid}`, { name: 'renamed', url: body.url })).name).toBe('renamed');
  const own = { type: 'api_key', api_key: { header_name: 'X-Mine', header_value: 'known' } };
  const changed = await link.put(`/endpoints/${uid}`, { url, authentication: own });
  expect([changed.url, changed.authentication, changed.secrets]).toEqual([url, null, []]);
});

test('no link changes where a function with variables sends; it may replace the function', async () => {
  const project = await app.newProject();
  const code = 'export const version = 2;\nfunction transform(payload) { return {} }';
  const made = (fields: object) =>
    subscribe(project, `${receiver.url}/first`, { endpoint: { owner_id: 'own' }, subscription: fields });
  const [{ endpoint, subscription }, other] = [await made({ function: code }), await made({})];
  const linkWith = async (can_see_secrets: boolean) => {
    const rights = { can_manage_endpoint: true, can_edit_functions: true, can_see_secrets };
    return portalOf(project, 'own', rights);
  };
  const [link, trusted] = [await linkWith(false), await linkWith(true)];
  const [one, its] = [`/endpoints/${endpoint.uid}`, `/subscriptions/${subscription.uid}`];
  const url = `${receiver.url}/elsewhere`;
  // Without variables there is nothing to see.
  await link.put(one, { url });
  await project.put('', { variables: { TOKEN: 'hush-hush' } });
  const before = [await project.get(one), await project.get(its)];
  for (const holder of [link, trusted])
    for (const [path, body] of [
      [one, { url: receiver.url }],
      [one, { delivery: 'pull' }],
      [its, { endpoint_id: other.endpoint.uid }],
    ] as const)
      expect((await holder.put(path, body, 403)).code).toBe('portal_forbidden');
  expect([await project.get(one), await project.get(its)]).toEqual(before);
  // Other changes, and endpoints that get no variables, are as before.
  await link.put(one, { name: 'renamed', url });
  await link.put(its, { name: 'renamed', endpoint_id: endpoint.uid });
  await link.put(`/endpoints/${other.endpoint.uid}`, { url });
  await project.put(one, { url: receiver.url });
  // With another function, which sees no variables, the address is free.
  await link.put(its, { function: `${code} // mine`, endpoint_id: other.endpoint.uid });
  await link.put(its, { endpoint_id: endpoint.uid });
  await link.put(one, { url });
  await project.put(its, { function: code });
  await link.put(one, { url: receiver.url }, 403);
  // A function of the link itself sees no variables.
  const own = await link.put(`/subscriptions/${other.subscription.uid}`, { function: code });
  await link.put(`/endpoints/${other.endpoint.uid}`, { delivery: 'pull' });
  await link.put(`/subscriptions/${own.uid}`, { endpoint_id: endpoint.uid });
  await link.delete(`/subscriptions/${own.uid}`);
  await link.delete(its);
  await link.put(one, { url: receiver.url });
});

// proves Portal links: can_edit_functions
test('functions are changed by can_edit_functions, which is as can_manage_endpoint unless it is set', async () => {
  const code = (name: string) => `function transform(payload) { return payload; } // ${name}`;
  const path = `/subscriptions/${ids['subscriptionID']}`;
  const editor = await client({ can_manage_endpoint: true });
  expect((await editor.put(path, { function: code('first') })).function).toBe(code('first'));
  const other = await client({ can_manage_endpoint: true, can_edit_functions: false });
  expect((await other.put(path, { function: code('next') }, 403)).code).toBe('portal_forbidden');
  const made = { name: 's', endpoint_id: ids['endpointID'] };
  await other.post('/subscriptions', { ...made, function: code('new') }, 403);
  await other.post('/subscriptions', { ...made, function: '' });
  // A client may send back all that it has read.
  expect((await other.put(path, { name: 'renamed', function: code('first') })).name).toBe('renamed');
  await editor.put(path, { function: '' });
  await (await client({ can_edit_functions: true })).put(path, { function: code('next') }, 403);
});

// differs Access: Viewers, and portal callers who may not see secrets, see `***` for the code of functions. Code
//   may hold secrets.
test('the code of functions shows by can_see_secrets, and is kept when it is written back masked', async () => {
  const code = "function transform(payload) { return { ...payload, by: 'hush' }; }";
  const path = `/subscriptions/${ids['subscriptionID']}`;
  const manage = { can_manage_endpoint: true };
  await app.project.put(path, { function: code });
  for (const [rights, shown] of [
    [{}, '***'],
    [manage, code],
    [{ ...manage, can_see_secrets: false }, '***'],
    [{ can_see_secrets: true }, code],
  ] as const) {
    const link = await client(rights);
    expect((await link.get(path)).function).toBe(shown);
    const { content } = await link.get('/subscriptions?perPage=100');
    expect(content.find((one: Json) => one.uid === ids['subscriptionID']).function).toBe(shown);
  }
  for (const can_edit_functions of [true, false]) {
    const link = await client({ ...manage, can_see_secrets: false, can_edit_functions });
    const changed = await link.put(path, { name: 'renamed', function: '***' });
    expect([changed.name, changed.function]).toEqual(['renamed', '***']);
    expect((await app.project.get(path)).function).toBe(code);
    await link.post('/subscriptions', { name: 's', endpoint_id: ids['endpointID'], function: '***' }, 400);
  }
  const blind = await client({ ...manage, can_see_secrets: false });
  await app.project.post('/events', { endpoint_id: ids['endpointID'], event_type: 'a', data: { n: 1 } });
  const tried = await blind.post(`${path}/preview`, { function: '***', limit: 1 }, 200);
  expect(tried.events[0].after).toEqual({ n: 1, by: 'hush' });
  const next = 'function transform(payload) { return payload; } // theirs';
  expect((await blind.put(path, { function: next })).function).toBe('***');
  expect((await app.project.get(path)).function).toBe(next);
  expect((await blind.put(path, { function: '' })).function).toBe('');
});

// proves Portal links: can_create_events
test('new events need can_create_events, changes need can_manage_endpoint, and neither implies the other', async () => {
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
  expect(attempt.request_http_header['Content-Type']).toBe('application/json');
  const other = await subscribe(app.project, receiver.url, { endpoint: { owner_id: 'other' } });
  await own.post(`/endpoints/${other.endpoint.uid}/test`, undefined, 404);
  const bare = await app.project.post('/endpoints', { name: 'bare', url: receiver.url, owner_id: 'own' });
  const received = receiver.requests.length;
  expect((await own.post(`/endpoints/${bare.uid}/test`, undefined, 400)).code).toBe('wrong_state');
  expect((await app.project.get(`/subscriptions?endpointId=${bare.uid}`)).content).toEqual([]);
  expect(receiver.requests.length).toBe(received);
});
