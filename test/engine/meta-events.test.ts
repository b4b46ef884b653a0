import { createHash, createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
/** Where meta events go. */
let listener: Receiver;
/** Where deliveries go. */
let receiver: Receiver;
let project: ApiClient;
let projectId: string;
let count = 0;

/** Each test has a project of its own that tells a listener of its own. */
beforeEach(async () => {
  listener = await Receiver.start();
  receiver = await Receiver.start();
  count += 1;
  const made = await app.instance.post('/projects', { name: `project ${count}`, type: 'outgoing' });
  projectId = made.project.uid;
  project = new ApiClient(`${app.url}/api/v1/projects/${projectId}`, made.api_key.key);
  return async () => {
    await listener.stop();
    await receiver.stop();
  };
});

const configure = (meta_event: object, config: object = {}) =>
  app.instance.put(`/projects/${projectId}`, {
    name: `project ${count}`,
    config: {
      strategy: { type: 'linear', duration: 1, retry_count: 3 },
      ...config,
      meta_event: { is_enabled: true, url: `${listener.url}/meta`, secret: 'meta secret', ...meta_event },
    },
  });
const listed = async (): Promise<Json[]> => (await project.get('/meta-events?perPage=100&sort=ASC')).content;
const settled = (many: number): Promise<Json[]> => eventually(listed, every({ status: 'Success' }, many));
/** The first meta event, once it has this status. */
const first = async (status: string): Promise<Json> => (await eventually(listed, [{ status }]))[0];
const sorted = (names: string[]) => names.toSorted((a, b) => (a < b ? -1 : 1));

describe('config changes', () => {
  // proves Projects: meta_event.url
  test('create one meta event each, in order, without secrets', async () => {
    await configure({ event_type: ['*'] });
    const { endpoint } = await subscribe(project, receiver.url, {
      endpoint: {
        secret: 'the signing secret',
        authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'the api key' } },
        slack_webhook_url: 'http://127.0.0.1:9/the-slack-url',
      },
    });
    const at = `/endpoints/${endpoint.uid}`;
    await project.put(at, { name: 'renamed', url: receiver.url });
    await project.put(`${at}/pause`);
    await project.put(`${at}/pause`);
    await project.put(`${at}/expire_secret`, { secret: 'the next secret' }, 200);
    await project.post('/portal-links', { name: 'l', owner_id: 'o', endpoints: [endpoint.uid] });
    await project.delete(at);
    const all = await settled(10);
    expect(all.map((each) => each.event_type)).toEqual([
      'project.updated',
      'endpoint.created',
      'subscription.created',
      'endpoint.updated',
      'endpoint.paused',
      'endpoint.activated',
      'endpoint.secret_rolled',
      'endpoint.updated',
      'endpoint.deleted',
      'subscription.deleted',
    ]);
    expect(sorted(listener.requests.map((request) => request.json.event_type))).toEqual(
      sorted(all.map((each) => each.event_type)),
    );
    const sent = Buffer.concat(listener.requests.map((request) => request.body)).toString();
    expect(sent).not.toMatch(/the signing secret|the api key|the next secret|the-slack-url|meta secret/);
    const data = (type: string) => all.find((each) => each.event_type === type)?.metadata.data.data;
    expect(data('endpoint.created')).toMatchObject({
      uid: endpoint.uid,
      status: 'active',
      project_id: projectId,
    });
    expect(data('endpoint.paused')).toMatchObject({ status: 'paused', state: 'held', held_by: 'paused' });
    expect(data('endpoint.deleted').deleted_at).toEqual(expect.any(String));
  });

  test('of subscriptions, their filters and sources create meta events too', async () => {
    await configure({ event_type: ['subscription.*', 'source.*'] });
    const source = await project.post('/sources', {
      name: 's',
      type: 'http',
      verifier: { type: 'api_key', api_key: { header_name: 'x', header_value: 'the verifier key' } },
    });
    const { subscription } = await subscribe(project, receiver.url);
    const at = `/subscriptions/${subscription.uid}`;
    await project.put(at, { name: 'renamed' });
    await project.post('/event-types', { name: 'further' });
    await project.post(`${at}/filters`, { event_type: 'further' });
    await project.delete(at);
    await project.delete(`/sources/${source.uid}`);
    const all = await settled(6);
    expect(all.map((each) => each.event_type)).toEqual([
      'source.created',
      'subscription.created',
      'subscription.updated',
      'subscription.updated',
      'subscription.deleted',
      'source.deleted',
    ]);
    expect(JSON.stringify(all)).not.toContain('the verifier key');
  });

  test('that fail create no meta event', async () => {
    await configure({ event_type: ['endpoint.*'] });
    await project.delete('/endpoints/unknown', 404);
    await project.post('/endpoints', { name: 'x', url: 'nonsense' }, 400);
    await project.post('/portal-links', { name: 'l', owner_id: 'o', endpoints: ['unknown'] }, 400);
    expect(await listed()).toEqual([]);
  });

  // proves Projects: meta_event.event_type
  test.each([
    [['endpoint.created'], ['endpoint.created']],
    [['endpoint.*'], ['endpoint.created', 'endpoint.paused']],
    [
      ['endpoint.p*', 'subscription.created'],
      ['endpoint.paused', 'subscription.created'],
    ],
    [[], []],
  ])('create meta events of the configured types: %j', async (event_type, expected) => {
    await configure({ event_type });
    const { endpoint } = await subscribe(project, receiver.url);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    const all = await settled(expected.length);
    expect(sorted(all.map((each) => each.event_type))).toEqual(expected);
  });

  // proves Projects: meta_event.is_enabled
  test('create meta events only while meta events are on', async () => {
    await configure({ event_type: ['endpoint.created'], is_enabled: false });
    await subscribe(project, receiver.url);
    expect(await listed()).toEqual([]);
    await configure({ event_type: ['endpoint.created'], is_enabled: true });
    await subscribe(project, receiver.url);
    await settled(1);
  });

  test('caused by an endpoint that answers 410 create meta events too', async () => {
    await configure({ event_type: ['endpoint.disabled'] });
    receiver.answerAlways(410);
    const { endpoint } = await subscribe(project, receiver.url);
    await project.post('/events/broadcast', { event_type: 'e', data: {} });
    const [reported] = await settled(1);
    expect(reported?.metadata.data.data).toMatchObject({
      uid: endpoint.uid,
      status: 'inactive',
      reason: expect.stringContaining('410'),
    });
  });
});

// proves Projects: meta_event.secret
test('a meta event is signed by both schemes with the project’s meta event secret', async () => {
  await configure({ event_type: ['endpoint.created'] }, { signature: { header: 'X-Other', schemes: [] } });
  await project.post('/endpoints', { name: 'x', url: receiver.url });
  const [request] = await listener.received(1);
  const [stored] = await settled(1);
  const { headers, body } = request as NonNullable<typeof request>;
  expect(request?.path).toBe('/meta');
  expect(body.toString()).toBe(stored?.metadata.raw);
  expect(headers['x-convoy-signature']).toBe(createHmac('sha256', 'meta secret').update(body).digest('hex'));
  const signed = `${stored?.uid}.${String(headers['webhook-timestamp'])}.${body.toString()}`;
  const standard = createHmac('sha256', 'meta secret').update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${standard}`);
  expect(headers['webhook-id']).toBe(stored?.uid);
  expect(headers['x-convoy-idempotency-key']).toBe(
    createHash('sha256')
      .update(stored?.uid ?? '')
      .digest('hex'),
  );
  expect(stored).toMatchObject({
    project_id: projectId,
    status: 'Success',
    metadata: { num_trials: 1, retry_limit: 3, interval_seconds: 1, strategy: 'linear' },
    attempt: { response_data: 'ok', http_status: '200 OK', error: '' },
  });
  expect(stored?.attempt.request_http_header['webhook-id']).toBe(stored?.uid);
});

describe('deliveries', () => {
  test('that end create one meta event each, with their result', async () => {
    await configure(
      { event_type: ['eventdelivery.*'] },
      { strategy: { type: 'linear', duration: 1, retry_count: 1 } },
    );
    const { endpoint } = await subscribe(project, receiver.url, { eventTypes: ['good', 'bad'] });
    receiver.answerNext(200, 500);
    await project.post('/events/broadcast', { event_type: 'good', data: { n: 1.5 }, idempotency_key: 'k' });
    await receiver.received(1);
    await project.post('/events/broadcast', { event_type: 'bad', data: {} });
    const reported = await settled(2);
    expect(reported.map((each) => each.event_type)).toEqual([
      'eventdelivery.success',
      'eventdelivery.failed',
    ]);
    const [good, bad] = reported.map((each) => each.metadata.data.data);
    expect(good).toMatchObject({
      endpoint_id: endpoint.uid,
      event_type: 'good',
      status: 'Success',
      idempotency_key: 'k',
      metadata: { data: { n: 1.5 }, num_trials: 1 },
      attempt: { http_status: '200 OK', status: true },
    });
    expect(bad).toMatchObject({ status: 'Failure', attempt: { status: false } });
    expect((await project.get(`/eventdeliveries/${good.uid}`)).status).toBe('Success');
  });

  test('that are discarded create meta events, those that will be retried do not', async () => {
    await configure({ event_type: ['eventdelivery.discarded', 'eventdelivery.success'] });
    const { endpoint } = await subscribe(project, receiver.url);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    await project.post('/events/broadcast', { event_type: 'e', data: {} });
    await project.delete(`/endpoints/${endpoint.uid}`);
    const [reported] = await settled(1);
    expect(reported?.event_type).toBe('eventdelivery.discarded');
    expect(reported?.metadata.data.data).toMatchObject({ status: 'Discarded', attempt: null });
  });

  test('create a meta event for each of a hundred at once', async () => {
    await configure({ event_type: ['eventdelivery.success'] });
    await subscribe(project, receiver.url);
    await Promise.all(
      Array.from({ length: 100 }, (_, n) => project.post('/events/broadcast', { event_type: 'e', data: n })),
    );
    const reported = await settled(100);
    expect(reported.map((each) => each.metadata.data.data.metadata.data).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, n) => n),
    );
    const seen = new Set(listener.requests.map((request) => request.headers['webhook-id']));
    expect(seen).toEqual(new Set(reported.map((each) => each.uid)));
  });

  test('create no meta event in a project without them, and then cost no transaction', async () => {
    await configure({ event_type: ['endpoint.created'] });
    await subscribe(project, receiver.url);
    await settled(1);
    await deliveryOf(project, await project.post('/events/broadcast', { event_type: 'e', data: {} }));
    expect(await listed()).toHaveLength(1);
  });
});

describe('a listener that fails', () => {
  test('is retried by the project’s strategy, then fails, and creates no meta event of its own', async () => {
    listener.answerAlways(500);
    await configure({ event_type: ['*'] }, { strategy: { type: 'linear', duration: 1, retry_count: 2 } });
    const reported = await first('Failure');
    expect(listener.requests).toHaveLength(2);
    expect(reported).toMatchObject({
      metadata: { num_trials: 2 },
      attempt: { http_status: '500 Internal Server Error', response_data: 'no' },
    });
    expect(reported?.description).toContain('2 attempts');
    expect(await listed()).toHaveLength(1);
    listener.answerAlways(200);
    const again = await project.put(`/meta-events/${reported?.uid}/resend`, undefined, 200);
    expect(again.status).toBe('Scheduled');
    const sent = await first('Success');
    expect(sent?.metadata.num_trials).toBe(3);
    expect(listener.requests.map((request) => request.body.toString())).toEqual(
      Array.from({ length: 3 }, () => listener.requests[0]?.body.toString()),
    );
  });

  test('that answers 410 ends it and disables nothing', async () => {
    listener.answerAlways(410);
    await configure({ event_type: ['project.updated'] });
    await first('Failure');
    expect(listener.requests).toHaveLength(1);
  });

  test('that cannot be reached is recorded with the reason', async () => {
    await configure({ event_type: ['project.updated'], url: 'http://127.0.0.1:9/' });
    const reported = await first('Retry');
    expect(reported?.attempt.error).toContain('refused');
    await configure({ event_type: [], is_enabled: false });
    const off = await first('Discarded');
    expect(off?.description).toContain('switched off');
  });
});

describe('reading', () => {
  test('lists by dates and pages, fetches one, and sees none of other projects', async () => {
    await configure({ event_type: ['endpoint.created'] });
    for (const name of ['a', 'b', 'c']) await project.post('/endpoints', { name, url: receiver.url });
    const all = await settled(3);
    const uids = async (query: string) =>
      (await project.get(`/meta-events?${query}`)).content.map((each: Json) => each.uid);
    const [a, b, c] = all.map((each) => each.uid);
    expect(await uids('')).toEqual([c, b, a]);
    const first = await project.get('/meta-events?perPage=2');
    expect(first.pagination).toMatchObject({ has_next_page: true, next_page_cursor: a, per_page: 2 });
    expect(await uids(`perPage=2&next_page_cursor=${a}`)).toEqual([a]);
    expect(await uids('endDate=2001-01-01T00:00:00')).toEqual([]);
    expect(await uids('startDate=2001-01-01T00:00:00')).toHaveLength(3);
    await project.get('/meta-events?startDate=yesterday', 400);
    expect(await project.get(`/meta-events/${b}`)).toEqual(all[1]);
    for (const client of [app.project]) {
      await client.get(`/meta-events/${b}`, 404);
      await client.put(`/meta-events/${b}/resend`, undefined, 404);
      expect((await client.get('/meta-events')).content.map((each: Json) => each.uid)).not.toContain(b);
    }
    const bytes = await project.call('GET', `/meta-events/${b}`, {
      expected: 200,
      headers: { accept: 'application/json; payload=bytes' },
    });
    expect(Buffer.from(bytes.metadata.data).toString()).toBe(all[1]?.metadata.raw);
  });

  test('is refused for portals', async () => {
    const link = await project.post('/portal-links', { name: 'l', owner_id: 'o', can_manage_endpoint: true });
    const holder = new ApiClient(project.base, link.token);
    await holder.get('/meta-events', 403);
    await new ApiClient(`${app.url}/portal-api`, link.token).get('/meta-events', 404);
  });
});

test('a meta event queued by a node that does not deliver is sent by one that does', async () => {
  const api = await app.addNode({ POSTHORN_ROLES: 'api' });
  await configure({ event_type: ['endpoint.created'] });
  const there = new ApiClient(`${api.url}/api/v1/projects/${projectId}`, project.key);
  await there.post('/endpoints', { name: 'x', url: receiver.url });
  await settled(1);
  await api.stop();
});
