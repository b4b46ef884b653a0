import { createHmac, createPublicKey, verify } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { deliveryOf, shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Settings of a project and of an endpoint that show in what is sent. */
const app = await shared(startTestApp());
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  return () => receiver.stop();
});

/** The request of one event, sent in a project of the given settings. */
async function sent(config: object, endpoint: object = {}, event: object = {}): Promise<Received> {
  const before = receiver.requests.length;
  const project = await app.newProject(config);
  await subscribe(project, receiver.url, { endpoint: { secret: 'the secret', ...endpoint } });
  await project.post('/events/broadcast', { event_type: 'a', data: { n: 1 }, ...event });
  return (await receiver.received(before + 1))[before] as Received;
}

describe('signatures', () => {
  // proves Projects: signature.header, signature.versions.hash, signature.versions.encoding
  test('are in the header the project names, one per version with its hash and encoding', async () => {
    const versions = [
      { hash: 'SHA512', encoding: 'base64' },
      { hash: 'SHA3_256', encoding: 'hex' },
    ];
    const { headers, body } = await sent({ signature: { header: 'X-Mine', versions } });
    expect(headers).not.toHaveProperty('x-convoy-signature');
    const time = /^t=(\d+),/.exec(String(headers['x-mine']))?.[1];
    const digest = (hash: string, encoding: 'hex' | 'base64') =>
      createHmac(hash, 'the secret').update(`${time},`).update(body).digest(encoding);
    expect(headers['x-mine']).toBe(
      `t=${time},v1=${digest('sha512', 'base64')},v2=${digest('sha3-256', 'hex')}`,
    );
  });

  // proves Projects: signature.schemes
  test.each([
    { schemes: ['convoy'], names: ['x-convoy-signature'] },
    { schemes: ['standard'], names: ['webhook-id', 'webhook-signature', 'webhook-timestamp'] },
    { schemes: [], names: [] },
  ])('follow the schemes of the project: $schemes', async ({ schemes, names }) => {
    const { headers } = await sent({ signature: { schemes } });
    const signing = Object.keys(headers).filter((name) => /^webhook-|signature/.test(name));
    expect(signing.sort()).toEqual(names);
  });

  // proves Projects: replay_attacks_prevention_enabled
  // proves Endpoints: advanced_signatures
  test.each([
    { project: false, endpoint: false, pattern: /^[0-9a-f]{64}$/ },
    { project: false, endpoint: true, pattern: /^t=\d+,v1=/ },
    { project: true, endpoint: false, pattern: /^t=\d+,v1=/ },
  ])('have a timestamp if project ($project) or endpoint ($endpoint) say so', async (asked) => {
    const { headers } = await sent(
      { replay_attacks_prevention_enabled: asked.project },
      { advanced_signatures: asked.endpoint },
    );
    expect(headers['x-convoy-signature']).toMatch(asked.pattern);
  });

  // proves Endpoints: signing_key.type
  test('by the key pair of an endpoint verify with its public half', async () => {
    const project = await app.newProject({});
    const { endpoint } = await subscribe(project, receiver.url, {
      endpoint: { signing_key: { type: 'ed25519' } },
    });
    await project.post('/events/broadcast', { event_type: 'a', data: { n: 1 } });
    const [request] = await receiver.received(1);
    const { headers, body } = request as Received;
    const raw = Buffer.from(endpoint.signing_key.public_key.replace('whpk_', ''), 'base64');
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
      format: 'jwk',
    });
    const signature = /v1a,(\S+)/.exec(String(headers['webhook-signature']))?.[1] ?? '';
    const signed = Buffer.concat([
      Buffer.from(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`),
      body,
    ]);
    expect(verify(null, signed, key, Buffer.from(signature, 'base64'))).toBe(true);
  });
});

describe('headers', () => {
  // proves Projects: add_event_id_trace_headers
  test.each([true, false])('with the ids of event and delivery are sent if configured: %s', async (asked) => {
    const { headers } = await sent({ add_event_id_trace_headers: asked });
    const id = asked ? expect.stringMatching(/^[0-9A-Z]{26}$/) : undefined;
    expect([headers['x-convoy-event-id'], headers['x-convoy-eventdelivery-id']]).toEqual([id, id]);
  });

  // proves Projects: request_id_header
  test('have the idempotency key under the name that the project sets', async () => {
    const key = { idempotency_key: 'order 7' };
    const named = await sent({ request_id_header: 'X-Request-Key' }, {}, key);
    expect(named.headers['x-request-key']).toBe('order 7');
    expect(named.headers).not.toHaveProperty('x-convoy-idempotency-key');
    expect((await sent({}, {}, key)).headers['x-convoy-idempotency-key']).toBe('order 7');
  });
});

test('an endpoint with OAuth 2 gets the token of its token server', async () => {
  receiver.answerAlways(({ path }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(path === '/token' ? '{"access_token":"t0ken","expires_in":60}' : '{}');
  });
  const project = await app.newProject({});
  const url = `${receiver.url}/token`;
  const oauth2 = { url, client_id: 'me', authentication_type: 'shared_secret', client_secret: 'hush' };
  await subscribe(project, `${receiver.url}/hook`, {
    endpoint: { authentication: { type: 'oauth2', oauth2 } },
  });
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const [asked, delivered] = await receiver.received(2);
  expect([asked?.path, delivered?.path]).toEqual(['/token', '/hook']);
  expect(delivered?.headers.authorization).toBe('Bearer t0ken');
});

// proves Endpoints: url
test('the next event goes to an endpoint’s new URL', async () => {
  const project = await app.newProject({});
  const { endpoint } = await subscribe(project, `${receiver.url}/old`);
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  await receiver.received(1);
  await project.put(`/endpoints/${endpoint.uid}`, { name: 'e', url: `${receiver.url}/new` });
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  expect((await receiver.received(2)).map(({ path }) => path)).toEqual(['/old', '/new']);
});

/** The waits that were planned after each failure but the last, in seconds. Each is read before the next answer. */
async function waits(project: ApiClient, subscription: object = {}): Promise<number[]> {
  const planned: number[] = [];
  const { endpoint } = await subscribe(project, receiver.url, { subscription });
  const latest = async (): Promise<Json> =>
    (await project.get(`/eventdeliveries?endpointId=${endpoint.uid}`)).content[0];
  const noteWait = async () => {
    const { metadata, updated_at } = await latest();
    if (metadata.num_trials > 0)
      planned.push((Date.parse(metadata.next_send_time) - Date.parse(updated_at)) / 1000);
  };
  receiver.answerAlways((_request, response) => {
    void noteWait().finally(() => response.writeHead(500).end());
  });
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  await eventually(latest, { status: 'Failure' });
  return planned;
}

/** These waits, and up to a fifth more by chance. */
const about = (expected: readonly number[]) => (planned: readonly number[]) =>
  planned.length === expected.length &&
  expected.every((wait, n) => (planned[n] ?? 0) >= wait && (planned[n] ?? 0) <= wait * 1.2);
const CONSTANT = [1, 1];

// proves Projects: strategy.type, strategy.duration, strategy.retry_count
test('the strategy of the project decides number and spacing of attempts', async () => {
  const strategy = { duration: 1, retry_count: 3 };
  const linear = await app.newProject({ strategy: { ...strategy, type: 'linear' } });
  expect(await waits(linear)).toSatisfy(about(CONSTANT));
  expect(receiver.requests).toHaveLength(3);
  const exponential = await app.newProject({ strategy: { ...strategy, type: 'exponential' } });
  expect(await waits(exponential)).toSatisfy(about([1, 2]));
  const once = await app.newProject({ strategy: { type: 'linear', duration: 1, retry_count: 1 } });
  expect(await waits(once)).toEqual([]);
  expect(receiver.requests).toHaveLength(7);
});

// proves Subscriptions: app_id
test('a subscription that names its endpoint by app_id sends there', async () => {
  const project = await app.newProject({});
  const endpoint = await project.post('/endpoints', { name: 'e', url: `${receiver.url}/by-app` });
  await project.post('/subscriptions', { name: 's', app_id: endpoint.uid });
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  expect((await receiver.received(1)).map(({ path }) => path)).toEqual(['/by-app']);
});

// differs Sending: `is_disabled` true makes an endpoint inactive; false changes nothing. Clients send false with
//   every change.
// proves Endpoints: is_disabled
test('an endpoint created or changed with is_disabled gets nothing until it is activated', async () => {
  const project = await app.newProject({});
  const { endpoint } = await subscribe(project, receiver.url, { endpoint: { is_disabled: true } });
  const path = `/endpoints/${endpoint.uid}`;
  const body = { name: 'e', url: receiver.url };
  const send = async (status: string) =>
    deliveryOf(project, await project.post('/events/broadcast', { event_type: 'a', data: {} }), status);
  expect(endpoint.status).toBe('inactive');
  await send('Discarded');
  // False is what clients send that know the field and do not care.
  expect((await project.put(path, { ...body, is_disabled: false })).status).toBe('inactive');
  await project.post(`${path}/activate`, undefined, 202);
  expect((await project.put(path, { ...body, is_disabled: false })).status).toBe('active');
  await send('Success');
  expect((await project.put(path, { ...body, is_disabled: true })).status).toBe('inactive');
  await send('Discarded');
  expect(receiver.requests).toHaveLength(1);
});

/** Sends four events to where two are let through at a time, once for long and once for a second. */
async function expectLimit(settings: (duration: number) => { endpoint?: object; subscription?: object }) {
  const sendsWithin = async (duration: number) => {
    const project = await app.newProject({});
    const path = `/for-${duration}`;
    await subscribe(project, `${receiver.url}${path}`, settings(duration));
    for (let n = 0; n < 4; n++) await project.post('/events/broadcast', { event_type: 'a', data: { n } });
    return path;
  };
  const long = await sendsWithin(3_600);
  const short = await sendsWithin(1);
  expect(await receiver.received(4, short)).toHaveLength(4);
  expect(await receiver.received(2, long)).toHaveLength(2);
}

// proves Endpoints: rate_limit_duration
test('rate_limit_duration is the interval of a limit', () =>
  expectLimit((rate_limit_duration) => ({ endpoint: { rate_limit: 2, rate_limit_duration } })));

// proves Subscriptions: rate_limit_config.count, rate_limit_config.duration
test('rate_limit_config limits the sends of its subscription per interval', () =>
  expectLimit((duration) => ({ subscription: { rate_limit_config: { count: 2, duration } } })));

// proves Projects: disable_endpoint
test('with disable_endpoint an endpoint whose delivery used up its attempts becomes inactive, without it not', async () => {
  receiver.answerAlways(500);
  const fail = async (disable_endpoint: boolean) => {
    const project = await app.newProject({ disable_endpoint, strategy: { retry_count: 1 } });
    const { endpoint } = await subscribe(project, receiver.url);
    const event = await project.post('/events/broadcast', { event_type: 'a', data: {} });
    await deliveryOf(project, event, 'Failure');
    return { project, path: `/endpoints/${endpoint.uid}` };
  };
  const kept = await fail(false);
  const disabled = await fail(true);
  await shown(disabled.project, disabled.path, { status: 'inactive' });
  expect((await kept.project.get(kept.path)).status).toBe('active');
});
