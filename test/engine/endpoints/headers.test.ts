import { expect, test } from 'vitest';
import { PullScene } from '../../pull/consumer.ts';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { newestDelivery } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';
import { storedRows } from '../../support/stored-rows.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const { project } = app;

/** One event: its request at the receiver, and the stored attempt. */
async function deliver(path: string, endpoint: object, event: object = {}): Promise<Json> {
  const made = await subscribe(project, `${receiver.url}${path}`, { endpoint, eventTypes: [path] });
  await project.post('/events/broadcast', { event_type: path, data: { n: 1 }, ...event });
  const [request] = await receiver.received(1, path);
  const { uid } = await newestDelivery(project, `endpointId=${made.endpoint.uid}`, 'Success');
  const [attempt] = await project.get(`/eventdeliveries/${uid}/deliveryattempts`);
  return { ...made, request, attempt };
}

// proves Endpoints: headers
test('the headers of an endpoint are sent over those of the event, and stored masked', async () => {
  receiver.answerNext((_request, response) => response.end('you sent acme-tenant-7'));
  const { request, attempt } = await deliver(
    '/sent',
    { headers: { 'X-Tenant': 'acme-tenant-7', Authorization: 'Bearer of-endpoint', accept: 'text/plain' } },
    { custom_headers: { 'x-tenant': 'of the event', 'X-Event': 'kept', authorization: 'Bearer of-event' } },
  );
  expect(request.headers).toMatchObject({
    'x-tenant': 'acme-tenant-7',
    'x-event': 'kept',
    authorization: 'Bearer of-endpoint',
    accept: 'text/plain',
    'webhook-id': expect.any(String),
  });
  expect(attempt.request_http_header).toMatchObject({ 'X-Tenant': '***', accept: '***', 'X-Event': 'kept' });
  // An answer that repeats a value is stored without it.
  expect(attempt.response_data).toBe('you sent ***');
});

test('headers of an event do not replace ours, and a header of the project wins over one of an endpoint', async () => {
  const other = await app.newProject();
  const { endpoint } = await subscribe(other, `${receiver.url}/renamed`, {
    endpoint: { headers: { 'X-Id': 'e' } },
  });
  await other.put('', { name: 'n', config: { request_id_header: 'X-Id' } });
  const custom_headers = { 'Webhook-Id': 'forged', 'Content-Type': 'text/html' };
  await other.post('/events', {
    endpoint_id: endpoint.uid,
    event_type: 'e',
    data: {},
    custom_headers,
    idempotency_key: 'the key',
  });
  const [request] = await receiver.received(1, '/renamed');
  expect(request?.headers).toMatchObject({ 'x-id': 'the key', 'content-type': 'application/json' });
  expect(request?.headers['webhook-id']).not.toBe('forged');
});

test.each([
  ['webhook-id', 'a header of Posthorn'],
  ['Webhook-Signature', 'a header of Posthorn'],
  ['X-Convoy-Signature', 'a header of Posthorn'],
  ['X-Posthorn-Hops', 'a header of Posthorn'],
  ['Content-Type', 'a header of Posthorn'],
  ['traceparent', 'a header of Posthorn'],
  ['User-Agent', 'set user_agent'],
  ['Content-Length', 'set by the connection'],
  ['host', 'set by the connection'],
  ['Transfer-Encoding', 'set by the connection'],
  ['Connection', 'set by the connection'],
  ['Proxy-Authorization', 'set by the connection'],
  ['a b', 'not a legal header name'],
  ['', 'not a legal header name'],
])('a header named %j is refused by name, and nothing is stored', async (name, problem) => {
  const { endpoints } = await storedRows(app.database);
  const body = { name: 'n', url: receiver.url, headers: { [name]: 'v' } };
  const refused = await project.call('POST', '/endpoints', { body, expected: 400 });
  expect(refused.message).toContain(`headers.${name}`);
  expect(refused.message).toContain(problem);
  expect((await storedRows(app.database)).endpoints).toBe(endpoints);
});

test('headers are bounded, and refused if they are no texts, twice, or those of the authentication', async () => {
  const many = (count: number, value = 'v') =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-${n}`, value]));
  const api_key = { header_name: 'X-Key', header_value: 'k' };
  for (const [fields, problem] of [
    [{ headers: many(33) }, 'headers: must be at most 32'],
    [{ headers: many(3, 'v'.repeat(4000)) }, 'headers: must have at most 8192 bytes'],
    [{ headers: { 'X-A': 'a\r\nX-B: b' } }, 'headers.X-A: contains characters'],
    [{ headers: { 'X-A': 'Ω' } }, 'headers.X-A: contains characters'],
    [{ headers: { 'X-A': '1', 'x-a': '2' } }, 'headers.x-a: is given twice'],
    [{ headers: { 'X-A': 1 } }, 'headers.X-A: must be a string'],
    [{ headers: ['X-A'] }, 'headers: must be an object'],
    [{ headers: { 'X-A': '***' } }, 'headers.X-A: has no stored value'],
    [
      { headers: { 'x-key': 'v' }, authentication: { type: 'api_key', api_key } },
      'headers.x-key: is the header of',
    ],
  ] as const) {
    const body = { name: 'n', url: receiver.url, ...fields };
    const refused = await project.call('POST', '/endpoints', { body, expected: 400 });
    expect(refused.message).toContain(problem);
  }
  const made = await project.post('/endpoints', { name: 'n', url: receiver.url, headers: many(32) });
  expect(made.headers).toEqual(many(32));
  const authentication = { type: 'api_key', api_key: { ...api_key, header_name: 'x-3' } };
  await project.call('PUT', `/endpoints/${made.uid}`, { body: { authentication }, expected: 400 });
  expect((await project.get(`/endpoints/${made.uid}`)).authentication).toBeNull();
});

test('a caller that saw a masked value keeps the stored one by sending the mask', async () => {
  const headers = { 'X-Tenant': 'stored value', 'X-Old': 'old' };
  const { uid } = await project.post('/endpoints', { name: 'n', url: receiver.url, headers });
  const changed = await project.put(`/endpoints/${uid}`, { headers: { 'x-tenant': '***', 'X-New': 'new' } });
  expect(changed.headers).toEqual({ 'x-tenant': 'stored value', 'X-New': 'new' });
});

test('a portal link that does not see secrets cannot have stored headers sent to another address', async () => {
  const { endpoint } = await subscribe(project, receiver.url, {
    endpoint: { owner_id: 'portal', headers: { 'X-Request-Id': 'hush' } },
  });
  const portal = await portalOf(project, 'portal', { can_manage_endpoint: true, can_see_secrets: false });
  const one = `/endpoints/${endpoint.uid}`;
  // Also where a header of that name would be harmless in an answer.
  expect((await portal.get(one)).headers).toEqual({ 'X-Request-Id': '***' });
  const url = `${receiver.url}/elsewhere`;
  await portal.call('PUT', one, { body: { url }, expected: 403 });
  await portal.call('PUT', one, { body: { url, headers: { 'x-request-id': '***' } }, expected: 403 });
  expect((await portal.put(one, { url, headers: { 'X-Own': 'mine' } })).url).toBe(url);
  expect((await project.get(one)).headers).toEqual({ 'X-Own': 'mine' });
});

test('consumers that pull get the headers, and their attempts store them masked', async () => {
  const scene = await PullScene.make(project, { endpoint: { headers: { 'X-Tenant': 'pulled-tenant' } } });
  await scene.send(1);
  const [taken] = await scene.pull();
  expect(taken.headers['X-Tenant']).toBe('pulled-tenant');
  await scene.report([{ uid: taken.uid, lease: taken.lease, ok: true }]);
  const [attempt] = await scene.attempts(taken.uid);
  expect(attempt.request_http_header['X-Tenant']).toBe('***');
});

test('a test of an endpoint sends its headers and shows them masked', async () => {
  const endpoint = { url: `${receiver.url}/tried`, headers: { 'X-Tenant': 'tried-tenant' } };
  const attempt = await project.post('/endpoints/test', { endpoint }, 200);
  expect((await receiver.received(1, '/tried'))[0]?.headers['x-tenant']).toBe('tried-tenant');
  expect(attempt.request_http_header['X-Tenant']).toBe('***');
});

// proves Endpoints: user_agent
// proves Projects: user_agent
test('the user agent is that of the endpoint, else of the project, else of the event, else ours', async () => {
  const other = await app.newProject();
  const { endpoint } = await subscribe(other, `${receiver.url}/agent`);
  const send = async (custom_headers: object = {}) => {
    await other.post('/events', { endpoint_id: endpoint.uid, event_type: 'e', data: {}, custom_headers });
    const requests = await receiver.received(receiver.at('/agent').length + 1, '/agent');
    return requests.at(-1)?.headers['user-agent'];
  };
  const ofEvent = { 'User-Agent': 'of the event' };
  expect(await send()).toMatch(/^Posthorn\//);
  expect(await send(ofEvent)).toBe('of the event');
  await other.put('', { name: 'agents', config: { user_agent: 'Project/1' } });
  expect(await send(ofEvent)).toBe('Project/1');
  await other.put(`/endpoints/${endpoint.uid}`, { user_agent: 'Endpoint/2' });
  expect(await send(ofEvent)).toBe('Endpoint/2');
});
