import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type Call, prepareCall } from '../support/operations/cases.ts';
import { type Operation, operations, PROJECT, pathWith } from '../support/operations/documented.ts';
import { newScene, OWNER } from '../support/operations/scene.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { storedRows } from '../support/stored-rows.ts';

/** Two projects on one instance: B tries everything there is on what belongs to A, which is all named `old`. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let b: ApiClient;
/** One id of A for each parameter of a path. */
let ids: Record<string, string> = {};
/** A call of every operation of a project, as A would make it. */
const calls: (Call & { operation: Operation })[] = [];

beforeAll(async () => {
  const scene = await newScene(app, receiver);
  for (const operation of operations.filter(({ path }) => path.startsWith(PROJECT))) {
    const call = await prepareCall(scene, operation, ids);
    calls.push({ ...call, operation });
    ids = { ...ids, ...call.ids, projectID: app.projectId };
  }
  const { endpoint } = await subscribe(app.project, receiver.url, {
    eventTypes: ['secret.plan'],
    endpoint: { owner_id: OWNER },
  });
  ids['endpointID'] = endpoint.uid;
  await app.project.post('/events/broadcast', {
    event_type: 'secret.plan',
    data: { plan: 'of A' },
    idempotency_key: 'shared key',
  });
  // Deliveries to consumers and devices wait for ever, delayed ones for long.
  await eventually(
    () =>
      app.database.query(
        `select 1 from delivery_queue q left join endpoints e on e.id = q.key
         where coalesce(e.delivery, 'push') = 'push' and q.due_at < now() + interval '10 minutes' limit 1`,
      ),
    { length: 0 },
  );
  b = await app.newProject();
});

describe('a project cannot', () => {
  // differs Access: A project key in the path of another project is 403. A wrong id is an error.
  test('use any operation in the path of another: 403, with any body', async () => {
    expect(calls.length).toBeGreaterThan(100);
    const before = await storedRows(app.database);
    const root = new ApiClient(app.url, b.key);
    for (const { operation, ids: own, body } of calls)
      for (const sent of operation.method === 'GET' ? [undefined] : [{}, body]) {
        const path = pathWith(operation, { ...own, projectID: app.projectId });
        const response = await root.raw(operation.method, path, { body: sent });
        expect([operation.name, response.status]).toEqual([operation.name, 403]);
        expect(await response.text()).not.toMatch(/\bold\b/);
      }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('use any operation on an id of another in its own path: 404, and nothing changes', async () => {
    const onIds = calls.filter(({ operation }) => operation.path.replace(PROJECT, '').includes('{'));
    expect(onIds.length).toBeGreaterThan(50);
    const before = await storedRows(app.database);
    const root = new ApiClient(app.url, b.key);
    for (const { operation, ids: own, body } of onIds) {
      const path = pathWith(operation, { ...own, projectID: b.projectId });
      const response = await root.raw(operation.method, path, { body });
      expect([operation.name, response.status]).toEqual([operation.name, 404]);
      expect(await response.text()).not.toMatch(/\bold\b/);
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test("see another's rows in any list, with any filter", async () => {
    for (const path of [
      `/endpoints?ownerId=${OWNER}`,
      '/endpoints?q=old',
      '/subscriptions',
      `/subscriptions?endpointId=${ids['endpointID']}`,
      '/events',
      `/events?endpointId=${ids['endpointID']}`,
      '/events?idempotencyKey=shared%20key',
      `/events?next_page_cursor=${ids['eventID']}`,
      `/events?direction=prev&prev_page_cursor=0&sort=DESC`,
      '/eventdeliveries',
      `/eventdeliveries?eventId=${ids['eventID']}`,
      `/eventdeliveries?endpointId=${ids['endpointID']}`,
      `/eventdeliveries?subscriptionId=${ids['subscriptionID']}`,
      '/events?query=secret.plan',
      `/events?body=${encodeURIComponent('{"plan":"of A"}')}`,
      `/events?sourceId=${ids['sourceID']}`,
      `/events?ownerId=${OWNER}`,
      '/sources',
      '/sources?q=old',
      `/sources?next_page_cursor=${ids['sourceID']}`,
      `/portal-links?ownerId=${OWNER}`,
      `/portal-links?endpointId=${ids['endpointID']}`,
      '/meta-events',
      `/meta-events?next_page_cursor=${ids['metaEventID']}`,
    ])
      expect([path, (await b.get(path)).content]).toEqual([path, []]);
    const keys = await b.get('/keys');
    expect(keys.map((key: Json) => key.uid)).not.toContain(ids['keyID']);
    expect(JSON.stringify(await b.get('/event-types'))).not.toContain('old');
    expect(JSON.stringify(await b.get('/jobs'))).not.toContain(ids['jobID']);
    expect(await b.get(`/endpoints/period-failure-rates?endpointId=${ids['endpointID']}`)).toEqual([]);
    expect(JSON.stringify(await b.get('/eventdeliveries/statustotals'))).not.toMatch(/[1-9]/);
    expect(await b.get('/events/countbatchreplayevents')).toEqual({ num: 0 });
    expect(await b.get('/eventdeliveries/countbatchretryevents')).toEqual({ num: 0 });
  });

  test("name another's rows in a body", async () => {
    const before = await storedRows(app.database);
    await b.post('/subscriptions', { name: 's', endpoint_id: ids['endpointID'] }, 400);
    await b.post('/subscriptions', { name: 's', app_id: ids['endpointID'] }, 400);
    await b.post('/events', { endpoint_id: ids['endpointID'], event_type: 'x', data: {} }, 400);
    await b.post('/events', { app_id: ids['endpointID'], event_type: 'x', data: {} }, 400);
    await b.post('/events/broadcast', { source_id: ids['sourceID'], event_type: 'x', data: {} }, 400);
    await b.post('/portal-links', { name: 'p', owner_id: OWNER, endpoints: [ids['endpointID']] }, 400);
    await b.post('/eventdeliveries/forceresend', { ids: [ids['eventDeliveryID']] }, 400);
    expect(await storedRows(app.database)).toEqual(before);
  });

  test("reach another's endpoints through an owner or a URL that both have", async () => {
    const seen = receiver.requests.length;
    const fanned = await b.post('/events/fanout', {
      owner_id: OWNER,
      event_type: 'secret.plan',
      data: {},
    });
    expect(fanned).toMatchObject({ status: 'Failure', endpoints: [] });
    const link = await b.post('/portal-links', { name: 'of B', owner_id: OWNER });
    expect(link.endpoints).toEqual([]);
    const holder = new ApiClient(`${app.url}/portal-api`, link.token);
    expect((await holder.get('/endpoints')).content).toEqual([]);
    expect((await holder.get('/eventdeliveries')).content).toEqual([]);
    await holder.get(`/endpoints/${ids['endpointID']}`, 404);
    const own = await b.post('/events/dynamic', { url: receiver.url, event_type: 'secret.plan', data: {} });
    expect(own.endpoints).not.toContain(ids['endpointID']);
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
    const plans = receiver.requests.slice(before).map(({ json }) => json.plan);
    expect(new Set(plans)).toEqual(new Set(['again']));
    expect(own.endpoints).toContain(ids['endpointID']);
  });
});
