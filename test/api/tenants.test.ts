import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { storedRows } from '../support/stored-rows.ts';

/** Two projects on one instance: B tries everything there is on what belongs to A. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let b: ApiClient;
const a = {
  endpoint: '',
  subscription: '',
  filter: '',
  source: '',
  link: '',
  eventType: '',
  event: '',
  delivery: '',
  attempt: '',
  metaEvent: '',
  job: '',
  key: '',
};

beforeAll(async () => {
  await app.project.put('', {
    name: 'A',
    config: { meta_event: { is_enabled: true, event_type: ['endpoint.*'], url: `${receiver.url}/meta` } },
  });
  const { endpoint, subscription } = await subscribe(app.project, receiver.url, {
    eventTypes: ['secret.plan'],
    endpoint: { owner_id: 'shared-owner', secret: 'secret of A' },
  });
  const event = await app.project.post('/events/broadcast', {
    event_type: 'secret.plan',
    data: { plan: 'of A' },
    idempotency_key: 'shared key',
  });
  const { content } = await eventually(
    () => app.project.get(`/eventdeliveries?eventId=${event.uid}`),
    (page) => page.content[0]?.status === 'Success',
  );
  const [attempt] = await app.project.get(`/eventdeliveries/${content[0].uid}/deliveryattempts`);
  const [key] = await app.project.get('/keys');
  const [filter] = await app.project.get(`/subscriptions/${subscription.uid}/filters`);
  const source = await app.project.post('/sources', { name: 'source of A', type: 'rest_api' });
  const link = await app.project.post('/portal-links', { name: 'link of A', owner_id: 'shared-owner' });
  const eventType = await app.project.post('/event-types', { name: 'type of A' });
  const metaEvents = await eventually(
    () => app.project.get('/meta-events'),
    (page) => page.content[0]?.status === 'Success',
  );
  const replay = await app.project.raw('POST', '/events/batchreplay?idempotencyKey=none');
  const { job } = (await replay.json()) as Json;
  await eventually(
    () => app.project.get(`/jobs/${job.uid}`),
    (state) => state.status === 'completed',
  );
  Object.assign(a, {
    endpoint: endpoint.uid,
    subscription: subscription.uid,
    filter: filter.uid,
    source: source.uid,
    link: link.uid,
    eventType: eventType.uid,
    metaEvent: metaEvents.content[0].uid,
    job: job.uid,
    event: event.uid,
    delivery: content[0].uid,
    attempt: attempt.uid,
    key: key.uid,
  });
  b = await app.newProject();
});

const endpointBody = { name: 'stolen', url: 'http://127.0.0.1:1' };

/** Every operation on something of A, by the ids above. */
const operations = (): [string, string, unknown?][] => [
  ['GET', `/endpoints/${a.endpoint}`],
  ['PUT', `/endpoints/${a.endpoint}`, endpointBody],
  ['DELETE', `/endpoints/${a.endpoint}`],
  ['PUT', `/endpoints/${a.endpoint}/pause`],
  ['POST', `/endpoints/${a.endpoint}/activate`],
  ['PUT', `/endpoints/${a.endpoint}/expire_secret`, { secret: 'known to B' }],
  ['GET', `/subscriptions/${a.subscription}`],
  ['GET', `/events/${a.event}`],
  ['GET', `/eventdeliveries/${a.delivery}`],
  ['GET', `/eventdeliveries/${a.delivery}/deliveryattempts`],
  ['GET', `/eventdeliveries/${a.delivery}/deliveryattempts/${a.attempt}`],
  ['DELETE', `/keys/${a.key}`],
];

/** Every operation below a project that the service says it has, with the ids of A in its path. */
async function documentedOperations(): Promise<[string, string][]> {
  const { paths } = await fetchOpenApi(app.url);
  const ids: Record<string, string> = {
    endpointID: a.endpoint,
    subscriptionID: a.subscription,
    eventID: a.event,
    eventDeliveryID: a.delivery,
    deliveryAttemptID: a.attempt,
    sourceID: a.source,
    filterID: a.filter,
    portalLinkID: a.link,
    eventTypeID: a.eventType,
    metaEventID: a.metaEvent,
    jobID: a.job,
    keyID: a.key,
  };
  const root = '/api/v1/projects/{projectID}';
  return Object.entries<object>(paths)
    .filter(([path]) => path.startsWith(root))
    .flatMap(([path, methods]) => {
      const rest = path
        .slice(root.length)
        .replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'other');
      return Object.keys(methods).map((method): [string, string] => [method.toUpperCase(), rest]);
    });
}

describe('a project cannot', () => {
  test('use any documented operation in the path of another: 403, with any body', async () => {
    const operations = await documentedOperations();
    expect(operations.length).toBeGreaterThan(25);
    const inside = new ApiClient(app.project.base, b.key);
    const before = await storedRows(app.database);
    for (const [method, path] of operations) {
      const response = await inside.raw(method, path, { body: method === 'GET' ? undefined : {} });
      expect([method, path, response.status]).toEqual([method, path, 403]);
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('use any documented operation on an id of another in its own path', async () => {
    const onIds = (await documentedOperations()).filter(([, path]) => /[0-9A-Z]{26}/.test(path));
    expect(onIds.length).toBeGreaterThan(15);
    const before = await storedRows(app.database);
    for (const [method, path] of onIds) {
      const response = await b.raw(method, path, { body: method === 'GET' ? undefined : {} });
      // 400 only where the body was looked at first.
      expect([404, 400], `${method} ${path}`).toContain(response.status);
      if (method === 'GET') expect([path, response.status]).toEqual([path, 404]);
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('touch the rows of another through its own path: 404, and nothing changes', async () => {
    const before = await storedRows(app.database);
    for (const [method, path, body] of operations()) {
      const response = await b.raw(method, path, { body });
      const text = await response.text();
      expect([method, path, response.status]).toEqual([method, path, 404]);
      expect(text).not.toContain('of A');
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test("touch them through the other's path: 403, and nothing changes", async () => {
    const inside = new ApiClient(app.project.base, b.key);
    const before = await storedRows(app.database);
    const everywhere: [string, string, unknown?][] = [
      ...operations(),
      ['GET', ''],
      ['PUT', '', { name: 'taken over' }],
      ['POST', '', { name: 'taken over' }],
      ['DELETE', ''],
      ['GET', '/keys'],
      ['POST', '/keys', { name: 'mine now' }],
      ['GET', '/endpoints'],
      ['POST', '/endpoints', endpointBody],
      ['GET', '/subscriptions'],
      ['POST', '/subscriptions', { name: 's', endpoint_id: a.endpoint }],
      ['GET', '/events'],
      ['POST', '/events', { endpoint_id: a.endpoint, event_type: 'x', data: {} }],
      ['POST', '/events/broadcast', { event_type: 'secret.plan', data: {} }],
      ['GET', '/eventdeliveries'],
    ];
    for (const [method, path, body] of everywhere) {
      const response = await inside.raw(method, path, { body });
      expect([method, path, response.status]).toEqual([method, path, 403]);
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test("see another's rows in any list, with any filter", async () => {
    for (const path of [
      '/endpoints?ownerId=shared-owner',
      '/endpoints?q=endpoint',
      '/subscriptions',
      `/subscriptions?endpointId=${a.endpoint}`,
      '/events',
      `/events?endpointId=${a.endpoint}`,
      '/events?idempotencyKey=shared%20key',
      `/events?next_page_cursor=${a.event}`,
      `/events?direction=prev&prev_page_cursor=0&sort=DESC`,
      '/eventdeliveries',
      `/eventdeliveries?eventId=${a.event}`,
      `/eventdeliveries?endpointId=${a.endpoint}`,
      `/eventdeliveries?subscriptionId=${a.subscription}`,
      '/events?query=secret.plan',
      `/events?body=${encodeURIComponent('{"plan":"of A"}')}`,
      `/events?sourceId=${a.source}`,
      '/events?ownerId=shared-owner',
      '/sources',
      '/sources?q=source',
      `/sources?next_page_cursor=${a.source}`,
      '/portal-links?ownerId=shared-owner',
      `/portal-links?endpointId=${a.endpoint}`,
      '/meta-events',
      `/meta-events?next_page_cursor=${a.metaEvent}`,
    ])
      expect([path, (await b.get(path)).content]).toEqual([path, []]);
    const keys = await b.get('/keys');
    expect(keys.map((key: Json) => key.uid)).not.toContain(a.key);
    expect(JSON.stringify(await b.get('/event-types'))).not.toContain('type of A');
    expect(JSON.stringify(await b.get('/jobs'))).not.toContain(a.job);
    expect(await b.get(`/endpoints/period-failure-rates?endpointId=${a.endpoint}`)).toEqual([]);
    expect(JSON.stringify(await b.get('/eventdeliveries/statustotals'))).not.toMatch(/[1-9]/);
    expect(await b.get('/events/countbatchreplayevents')).toEqual({ num: 0 });
    expect(await b.get('/eventdeliveries/countbatchretryevents')).toEqual({ num: 0 });
  });

  test("name another's rows in a body", async () => {
    const before = await storedRows(app.database);
    await b.post('/subscriptions', { name: 's', endpoint_id: a.endpoint }, 400);
    await b.post('/subscriptions', { name: 's', app_id: a.endpoint }, 400);
    await b.post('/events', { endpoint_id: a.endpoint, event_type: 'x', data: {} }, 400);
    await b.post('/events', { app_id: a.endpoint, event_type: 'x', data: {} }, 400);
    await b.post('/events/broadcast', { source_id: a.source, event_type: 'x', data: {} }, 400);
    await b.post('/portal-links', { name: 'p', owner_id: 'shared-owner', endpoints: [a.endpoint] }, 400);
    await b.post('/eventdeliveries/forceresend', { ids: [a.delivery] }, 400);
    expect(await storedRows(app.database)).toEqual(before);
  });

  test("reach another's endpoints through an owner or a URL that both have", async () => {
    const seen = receiver.requests.length;
    const fanned = await b.post('/events/fanout', {
      owner_id: 'shared-owner',
      event_type: 'secret.plan',
      data: {},
    });
    expect(fanned).toMatchObject({ status: 'Failure', endpoints: [] });
    const link = await b.post('/portal-links', { name: 'of B', owner_id: 'shared-owner' });
    expect(link.endpoints).toEqual([]);
    const holder = new ApiClient(`${app.url}/portal-api`, link.token);
    expect((await holder.get('/endpoints')).content).toEqual([]);
    expect((await holder.get('/eventdeliveries')).content).toEqual([]);
    await holder.get(`/endpoints/${a.endpoint}`, 404);
    const own = await b.post('/events/dynamic', { url: receiver.url, event_type: 'secret.plan', data: {} });
    expect(own.endpoints).not.toContain(a.endpoint);
    await receiver.received(seen + 1);
    await b.delete(`/endpoints/${own.endpoints[0]}`);
  });

  test("reach another's subscriptions by a broadcast, nor collide with its idempotency keys", async () => {
    const before = receiver.requests.length;
    const event = await b.post('/events/broadcast', {
      event_type: 'secret.plan',
      data: { plan: 'of B' },
      idempotency_key: 'shared key',
    });
    expect(event).toMatchObject({ status: 'Failure', is_duplicate_event: false, endpoints: [] });
    const own = await app.project.post('/events/broadcast', {
      event_type: 'secret.plan',
      data: { plan: 'again' },
    });
    await receiver.received(before + 1);
    expect(receiver.requests.slice(before).map(({ json }) => json)).toEqual([{ plan: 'again' }]);
    expect(own.endpoints).toEqual([a.endpoint]);
  });
});
