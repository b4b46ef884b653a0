import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually, every } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** Two owners in one project, each with an endpoint, a subscription, and a delivery of the same broadcast event. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let mine: Json;
let theirs: Json;
let eventId: string;
let theirEventId: string;
let viewer: ApiClient;
let manager: ApiClient;
/** The manager's token on the paths that name the project. */
let direct: ApiClient;

async function side(owner: string): Promise<Json> {
  const { endpoint, subscription } = await subscribe(app.project, receiver.url, {
    endpoint: {
      owner_id: owner,
      name: `of ${owner}`,
      authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'hush' } },
      slack_webhook_url: 'http://127.0.0.1:9/slack',
      headers: { 'X-Tenant': 'hush' },
      metadata: { plan: 'of the owner' },
    },
  });
  return { endpoint, subscription };
}

const token = async (fields: object) =>
  (await app.project.post('/portal-links', { name: 'l', owner_id: 'me', ...fields })).token as string;
const portal = (key: string) => new ApiClient(`${app.url}/portal-api`, key);

beforeAll(async () => {
  receiver.answerAlways((_request, response) =>
    response.writeHead(200, { 'x-answer': 'secret answer header' }).end('ok'),
  );
  mine = await side('me');
  theirs = await side('them');
  const event = await app.project.post('/events/broadcast', {
    event_type: 'e',
    data: { headers: { kept: 'payload' } },
    custom_headers: { 'X-Custom': 'custom value' },
  });
  eventId = event.uid;
  theirEventId = (
    await app.project.post('/events', { endpoint_id: theirs.endpoint.uid, event_type: 'e', data: {} })
  ).uid;
  await receiver.received(3);
  const deliveries = await eventually(
    async () => (await app.project.get('/eventdeliveries')).content as Json[],
    every({ status: 'Success' }, 3),
  );
  const of = (endpoint: Json) =>
    deliveries.find((each) => each.endpoint_id === endpoint.uid && each.event_id === eventId) as Json;
  mine.delivery = of(mine.endpoint);
  theirs.delivery = of(theirs.endpoint);
  for (const each of [mine, theirs]) {
    [each.attempt] = await app.project.get(`/eventdeliveries/${each.delivery.uid}/deliveryattempts`);
  }
  viewer = portal(await token({}));
  manager = portal(await token({ can_manage_endpoint: true, can_create_events: true }));
  direct = new ApiClient(app.project.base, manager.key);
});

const uids = (page: Json): string[] => page.content.map((each: Json) => each.uid);

describe('lists', () => {
  // proves Portal links: owner_id
  test('show only data of the owner, even if the query asks for more', async () => {
    for (const client of [viewer, manager, direct]) {
      expect(uids(await client.get('/endpoints'))).toEqual([mine.endpoint.uid]);
      expect(uids(await client.get('/endpoints?ownerId=them'))).toEqual([]);
      expect(uids(await client.get('/subscriptions'))).toEqual([mine.subscription.uid]);
      expect(uids(await client.get(`/subscriptions?endpointId=${theirs.endpoint.uid}`))).toEqual([]);
      expect(uids(await client.get('/events'))).toEqual([eventId]);
      expect(uids(await client.get(`/events?endpointId=${theirs.endpoint.uid}`))).toEqual([eventId]);
      expect(uids(await client.get('/eventdeliveries'))).toEqual([mine.delivery.uid]);
      expect(uids(await client.get(`/eventdeliveries?endpointId=${theirs.endpoint.uid}`))).toEqual([]);
      expect(uids(await client.get(`/eventdeliveries?eventId=${theirEventId}`))).toEqual([]);
    }
  });

  test('are empty for an owner without endpoints', async () => {
    const empty = portal(await token({ owner_id: 'no endpoints at all', can_manage_endpoint: true }));
    for (const list of ['endpoints', 'subscriptions', 'events', 'eventdeliveries']) {
      expect(uids(await empty.get(`/${list}`))).toEqual([]);
    }
    expect(await empty.get('/dashboard/summary')).toMatchObject({ events_sent: 0, apps: 0, event_data: [] });
    expect((await empty.get('/eventdeliveries/statustotals')).Success).toBe(0);
  });

  test('find events that went to more endpoints than an event names', async () => {
    const many = Array.from({ length: 1_000 }, (_, n) => `x${n}`);
    await app.database.query('update events set endpoints = $2 where id = $1', [eventId, many]);
    try {
      expect(uids(await viewer.get('/events'))).toEqual([eventId]);
      expect((await viewer.get(`/events/${eventId}`)).endpoints).toEqual([]);
    } finally {
      await app.database.query('update events set endpoints = $2 where id = $1', [
        eventId,
        [mine.endpoint.uid, theirs.endpoint.uid],
      ]);
    }
  });
});

describe('single reads', () => {
  test('work for data of the owner', async () => {
    for (const client of [viewer, direct]) {
      expect((await client.get(`/endpoints/${mine.endpoint.uid}`)).uid).toBe(mine.endpoint.uid);
      expect((await client.get(`/subscriptions/${mine.subscription.uid}`)).uid).toBe(mine.subscription.uid);
      expect((await client.get(`/events/${eventId}`)).uid).toBe(eventId);
      expect((await client.get(`/eventdeliveries/${mine.delivery.uid}`)).uid).toBe(mine.delivery.uid);
      const attempts = `/eventdeliveries/${mine.delivery.uid}/deliveryattempts`;
      expect((await client.get(attempts)).map((each: Json) => each.uid)).toEqual([mine.attempt.uid]);
      expect((await client.get(`${attempts}/${mine.attempt.uid}`)).uid).toBe(mine.attempt.uid);
    }
  });

  test('of data of another owner are 404, as if it did not exist', async () => {
    for (const client of [viewer, manager, direct]) {
      await client.get(`/endpoints/${theirs.endpoint.uid}`, 404);
      await client.get(`/subscriptions/${theirs.subscription.uid}`, 404);
      await client.get(`/events/${theirEventId}`, 404);
      await client.get(`/eventdeliveries/${theirs.delivery.uid}`, 404);
      const attempts = `/eventdeliveries/${theirs.delivery.uid}/deliveryattempts`;
      await client.get(attempts, 404);
      await client.get(`${attempts}/${theirs.attempt.uid}`, 404);
    }
  });

  test('of an event name no endpoint of another owner', async () => {
    expect((await app.project.get(`/events/${eventId}`)).endpoints).toHaveLength(2);
    expect((await viewer.get(`/events/${eventId}`)).endpoints).toEqual([mine.endpoint.uid]);
  });

  test('mask header values except signatures and harmless ones, and leave payloads as they are', async () => {
    const attempts = `/eventdeliveries/${mine.delivery.uid}/deliveryattempts`;
    const [seen] = await manager.get(attempts);
    expect(seen.request_http_header).toMatchObject({
      'X-Custom': '***',
      'Content-Type': 'application/json',
      'User-Agent': expect.stringMatching(/^Posthorn/),
      'webhook-id': mine.delivery.uid,
      'X-Convoy-Signature': expect.stringMatching(/^t=\d+,v1=/),
    });
    expect(seen.response_http_header).toMatchObject({
      'x-answer': '***',
      date: expect.stringMatching(/GMT$/),
    });
    const delivery = await manager.get(`/eventdeliveries/${mine.delivery.uid}`);
    expect(delivery.headers).toEqual({ 'X-Custom': ['***'] });
    expect(delivery.metadata.data).toEqual({ headers: { kept: 'payload' } });
    const [raw] = await app.project.get(attempts);
    expect(raw.request_http_header['X-Custom']).toBe('custom value');
  });

  // differs Access: Portal callers do not see header values, sources, or secrets of endpoints they may not
  //   manage. They are the customer's customers.
  test('show the secrets of endpoints only to links that may manage them', async () => {
    const places = async (client: ApiClient) => [
      await client.get(`/endpoints/${mine.endpoint.uid}`),
      (await client.get('/endpoints')).content[0],
      (await client.get(`/subscriptions/${mine.subscription.uid}`)).endpoint_metadata,
      (await client.get(`/eventdeliveries/${mine.delivery.uid}`)).endpoint_metadata,
    ];
    for (const endpoint of await places(viewer)) {
      expect(endpoint).toMatchObject({
        secrets: [],
        standard_webhooks_secret: '',
        authentication: null,
        slack_webhook_url: '',
      });
      expect(endpoint.headers ?? {}).not.toMatchObject({ 'X-Tenant': 'hush' });
      expect(JSON.stringify(endpoint)).not.toContain('hush');
    }
    const [own] = (await viewer.get('/portal_link')).endpoints_metadata;
    expect(own.secrets).toEqual([]);
    for (const endpoint of await places(manager)) {
      expect(endpoint.secrets).toHaveLength(1);
      expect(endpoint.authentication.api_key.header_value).toBe('hush');
      expect(endpoint.headers).toEqual({ 'X-Tenant': 'hush' });
    }
  });
});

describe('writes', () => {
  // proves Portal links: can_manage_endpoint
  test('of endpoints need a link that may manage them', async () => {
    const one = `/endpoints/${mine.endpoint.uid}`;
    const body = { name: 'n', url: receiver.url };
    for (const client of [viewer, new ApiClient(app.project.base, viewer.key)]) {
      for (const [method, path] of [
        ['POST', '/endpoints'],
        ['PUT', one],
        ['DELETE', one],
        ['PUT', `${one}/pause`],
        ['POST', `${one}/activate`],
        ['PUT', `${one}/expire_secret`],
      ] as const) {
        const refused = await client.call(method, path, { body, expected: 403 });
        expect(refused.code).toBe('portal_forbidden');
      }
    }
    expect((await app.project.get(one)).status).toBe('active');
    for (const status of ['paused', 'active'])
      expect((await manager.put(`${one}/pause`)).status).toBe(status);
  });

  test('of another owner’s endpoint are 404 and change nothing', async () => {
    const one = `/endpoints/${theirs.endpoint.uid}`;
    const body = { name: 'taken over', url: receiver.url };
    for (const client of [manager, direct]) {
      await client.put(one, body, 404);
      await client.delete(one, 404);
      await client.put(`${one}/pause`, undefined, 404);
      await client.post(`${one}/activate`, undefined, 404);
      await client.put(`${one}/expire_secret`, {}, 404);
    }
    expect(await app.project.get(one)).toMatchObject({ name: 'of them', status: 'active' });
  });

  test('of own endpoints work; the owner is always the link’s', async () => {
    const metadata = { plan: 'mine' };
    const made = await manager.post('/endpoints', {
      name: 'new',
      url: receiver.url,
      owner_id: 'them',
      metadata,
    });
    expect(made.owner_id).toBe('me');
    expect((await app.project.get(`/endpoints/${made.uid}`)).metadata).toEqual({});
    const one = `/endpoints/${made.uid}`;
    const changed = await manager.put(one, { name: 'renamed', url: receiver.url, owner_id: 'them' });
    expect(changed).toMatchObject({ name: 'renamed', owner_id: 'me' });
    const ofOwner = `/endpoints/${mine.endpoint.uid}`;
    expect((await manager.put(ofOwner, { metadata })).metadata).toEqual({});
    expect((await app.project.get(ofOwner)).metadata).toEqual({ plan: 'of the owner' });
    expect((await manager.put(`${one}/pause`)).status).toBe('paused');
    expect((await manager.post(`${one}/activate`, undefined, 202)).status).toBe('active');
    expect((await manager.put(`${one}/expire_secret`, {}, 200)).secrets).toHaveLength(2);
    await manager.delete(one);
    await manager.get(one, 404);
  });

  test('of events go to own endpoints only', async () => {
    const event = (endpoint_id: string) => ({ endpoint_id, event_type: 'w', data: 1 });
    expect((await manager.post('/events', event(mine.endpoint.uid))).endpoints).toEqual([mine.endpoint.uid]);
    expect((await manager.post('/events', event(theirs.endpoint.uid), 400)).code).toBe('not_in_project');
    const byApp = { app_id: theirs.endpoint.uid, event_type: 'w', data: 1 };
    expect((await manager.post('/events', byApp, 400)).code).toBe('not_in_project');
  });

  test('of subscriptions take own endpoints only', async () => {
    const body = (endpoint_id: string) => ({ name: 's', endpoint_id, filter_config: { event_types: ['z'] } });
    const made = await manager.post('/subscriptions', body(mine.endpoint.uid));
    expect((await viewer.get(`/subscriptions/${made.uid}`)).endpoint_metadata.secrets).toEqual([]);
    expect((await manager.post('/subscriptions', body(theirs.endpoint.uid), 400)).code).toBe(
      'not_in_project',
    );
  });

  test('of subscriptions and filters change own ones only', async () => {
    const filters = (side: Json) => `/subscriptions/${side.subscription.uid}/filters`;
    await app.project.post('/event-types', { name: 'filtered' });
    const made = await manager.post(filters(mine), { event_type: 'filtered', body: { a: 1 } });
    const own = `${filters(mine)}/${made.uid}`;
    expect(await viewer.get(own)).toMatchObject({ uid: made.uid, event_type: 'filtered' });
    expect((await viewer.get(filters(mine))).map((each: Json) => each.uid)).toContain(made.uid);
    await manager.put(own, { body: { a: 2 } }, 200);
    await manager.post(`${filters(mine)}/test/filtered`, { payload: { a: 2 } }, 200);
    await manager.delete(own);
    expect((await manager.put(`/subscriptions/${mine.subscription.uid}`, { name: 'mine' })).name).toBe(
      'mine',
    );
    const theirRow = async () =>
      app.database.query('select * from subscriptions where id = $1', [theirs.subscription.uid]);
    const before = await theirRow();
    const [theirFilter] = await app.project.get(filters(theirs));
    const one = `${filters(theirs)}/${theirFilter?.uid ?? 'none'}`;
    const at = `/subscriptions/${theirs.subscription.uid}`;
    for (const client of [manager, direct]) {
      await client.put(at, { name: 'taken over' }, 404);
      await client.put(`${at}/toggle_status`, undefined, 404);
      await client.delete(at, 404);
      await client.get(filters(theirs), 404);
      await client.get(one, 404);
      await client.post(filters(theirs), { event_type: 'mine' }, 404);
      await client.put(one, { body: {} }, 404);
      await client.delete(one, 404);
      await client.post(`${filters(theirs)}/bulk`, [{ event_type: 'mine' }], 404);
      await client.put(`${filters(theirs)}/bulk_update`, [{ uid: theirFilter?.uid ?? 'x', body: {} }], 404);
      await client.post(`${filters(theirs)}/bulk_update`, [{ uid: theirFilter?.uid ?? 'x', body: {} }], 404);
      await client.post(`${filters(theirs)}/test/e`, { payload: {} }, 404);
    }
    expect(await theirRow()).toEqual(before);
    const moved = { endpoint_id: theirs.endpoint.uid };
    const refused = await manager.put(`/subscriptions/${mine.subscription.uid}`, moved, 400);
    expect(refused.code).toBe('not_in_project');
  });

  test('that only test something are open to every link', async () => {
    expect(await viewer.post('/subscriptions/test_filter', { schema: {}, request: {} }, 200)).toBe(true);
    const code = 'function transform(payload) { return payload; }';
    expect(
      (await viewer.post('/subscriptions/test_function', { payload: 1, function: code }, 200)).payload,
    ).toBe(1);
    expect(await viewer.get('/event-types')).toEqual(expect.any(Array));
    await viewer.post('/event-types', { name: 'x' }, 405);
    await direct.post('/event-types', { name: 'x' }, 403);
    await direct.get('/sources', 403);
    await direct.post('/sources', { name: 'x', type: 'http' }, 403);
  });
});

describe('figures', () => {
  test('count the owner’s deliveries only', async () => {
    const all = await app.project.get('/dashboard/summary?type=monthly');
    const own = await viewer.get('/dashboard/summary?type=monthly');
    expect(own.apps).toBe(1);
    expect(own.period).toBe('monthly');
    expect(own.events_sent).toBeLessThan(all.events_sent);
    expect(own.event_data.reduce((sum: number, each: Json) => sum + each.count, 0)).toBe(own.events_sent);
    expect((await viewer.get('/dashboard/summary?type=constructor')).period).toBe('daily');
    expect(
      (await viewer.get('/dashboard/summary?startDate=2001-01-01T00:00:00&endDate=2001-01-02T00:00:00'))
        .events_sent,
    ).toBe(0);
    await viewer.get('/dashboard/summary?startDate=nonsense', 400);
  });

  test('before the last two days are those of whole hours, each attempt once', async () => {
    const start = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 13);
    for (const [step, minute] of [
      [60, '00'],
      [1, '30'],
    ])
      await app.database.query(
        `insert into traffic (project_id, subject_id, step, start, accepted, first_attempts, attempts, failed_attempts,
           resent_attempts, delivered, failed, discarded, buckets, bucket_counts)
         values ($1, $2, $3, $4, 5, 5, 7, 2, 0, 5, 0, 0, '{}', '{}')`,
        [app.projectId, mine.endpoint.uid, step, `${start}:${minute}:00Z`],
      );
    const day = start.slice(0, 10);
    const old = await viewer.get(
      `/dashboard/summary?type=daily&startDate=${day}T00:00:00&endDate=${day}T23:59:59`,
    );
    expect(old).toMatchObject({ events_sent: 5, event_data: [{ count: 5 }] });
  });

  test('by state', async () => {
    const [{ count }] = (await app.database.query(
      "select count(*)::int from event_deliveries where endpoint_id = $1 and status = 'Success'",
      [theirs.endpoint.uid],
    )) as [{ count: number }];
    const totals = await app.project.get(`/eventdeliveries/statustotals?endpointId=${theirs.endpoint.uid}`);
    expect(totals.Success).toBe(count);
    expect(
      (await viewer.get(`/eventdeliveries/statustotals?endpointId=${theirs.endpoint.uid}`)).Success,
    ).toBe(0);
  });

  test('of failure rates leave out other owners’ endpoints', async () => {
    const query = `endpointId=${mine.endpoint.uid}&endpointId=${theirs.endpoint.uid}&endpointId=${mine.endpoint.uid}`;
    const rates = await viewer.get(`/endpoints/period-failure-rates?${query}`);
    expect(rates).toEqual([
      {
        uid: mine.endpoint.uid,
        period_failure_rate: 0,
        success_count: expect.any(Number),
        failure_count: 0,
        retry_count: 0,
      },
    ]);
    expect(await app.project.get(`/endpoints/period-failure-rates?${query}`)).toHaveLength(2);
    const past = await viewer.get(`/endpoints/period-failure-rates?${query}&endDate=2001-01-01T00:00:00`);
    expect(past[0]).toMatchObject({ period_failure_rate: null, success_count: 0 });
  });

  // differs Access: There are no licences: one edition has everything. Convoy sells licences.
  test('and settings for the pages', async () => {
    expect(await viewer.get('/configuration')).toMatchObject({
      can_manage_endpoint: false,
      disable_endpoint: false,
    });
    expect(await manager.get('/configuration/auth')).toMatchObject({ can_manage_endpoint: true });
    expect(await viewer.get('/license/features')).toMatchObject({ portal_links: true });
  });
});
