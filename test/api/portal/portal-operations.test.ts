import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { operations, pathWith } from '../../support/operations/documented.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { completedJob, deliveryOf, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** The holder of a portal link acts on its own deliveries, subscriptions and filters, and on no others. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let portal: ApiClient;
const caller = (key: string) => new ApiClient(`${app.url}/portal-api`, key);
const uids = (page: Json): string[] => page.content.map((each: Json) => each.uid);
let own: { endpoint: Json; subscription: Json };
let others: { endpoint: Json; subscription: Json };

beforeAll(async () => {
  const make = (owner: string) =>
    subscribe(app.project, receiver.url, {
      endpoint: { owner_id: owner },
      subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 0 } },
    });
  own = await make('own');
  others = await make('others');
  const body = { name: 'link', owner_id: 'own', can_manage_endpoint: true };
  const link = await app.project.post('/portal-links', body);
  portal = caller(link.token);
});

/** A delivery to an endpoint, in the state its receiver puts it. */
async function delivered(endpointId: string, answer: number): Promise<Json> {
  receiver.answerAlways(answer);
  const event = await app.project.post('/events', { endpoint_id: endpointId, event_type: 'x', data: {} });
  const delivery = await deliveryOf(app.project, event, answer === 200 ? 'Success' : 'Failure');
  receiver.answerAlways(200);
  return delivery;
}

const state = async (delivery: Json): Promise<string> =>
  (await app.project.get(`/eventdeliveries/${delivery.uid}`)).status;

describe('through a portal', () => {
  test('a broadcast is replayed to own endpoints alone; events of others are not found', async () => {
    const event = await app.project.post('/events/broadcast', { event_type: 'replayed', data: {} });
    const foreign = await app.project.post('/events', {
      endpoint_id: others.endpoint.uid,
      event_type: 'x',
      data: {},
    });
    const deliveriesTo = async (endpoint: Json) =>
      (await app.project.get(`/eventdeliveries?eventId=${event.uid}&endpointId=${endpoint.uid}`)).content
        .length;
    expect([await deliveriesTo(own.endpoint), await deliveriesTo(others.endpoint)]).toEqual([1, 1]);
    await portal.put(`/events/${event.uid}/replay`, undefined, 200);
    await portal.put(`/events/${foreign.uid}/replay`, undefined, 404);
    expect([await deliveriesTo(own.endpoint), await deliveriesTo(others.endpoint)]).toEqual([2, 1]);

    const toOthers = `to_endpoint=${others.endpoint.uid}`;
    await portal.put(`/events/${event.uid}/replay?${toOthers}`, undefined, 400);
    await portal.post(`/events/batchreplay?${toOthers}`, undefined, 400);
    await portal.post('/events/batchreplay?to_owner=unknown', undefined, 400);

    const { num } = await portal.get('/events/countbatchreplayevents');
    expect(num).toBe((await portal.get('/events?perPage=1000')).content.length);
    expect((await portal.get(`/events/countbatchreplayevents?endpointId=${others.endpoint.uid}`)).num).toBe(
      0,
    );
    const { job } = (await (await portal.raw('POST', '/events/batchreplay')).json()) as Json;
    await completedJob(app.project, job);
    expect([await deliveriesTo(own.endpoint), await deliveriesTo(others.endpoint)]).toEqual([3, 1]);
    await portal.get('/events/countbatchreplayevents?startDate=never', 400);
    await portal.post('/events/batchreplay?startDate=never', undefined, 400);
  });

  test('an own failed delivery is sent again; one of others is not found', async () => {
    const mine = await delivered(own.endpoint.uid, 500);
    const theirs = await delivered(others.endpoint.uid, 500);
    await portal.put(`/eventdeliveries/${theirs.uid}/resend`, undefined, 404);
    await portal.put(`/eventdeliveries/${mine.uid}/resend`, undefined, 200);
    await shown(app.project, `/eventdeliveries/${mine.uid}`, { status: 'Success' });
    expect(await state(theirs)).toBe('Failure');
  });

  test('own successful deliveries are sent again; naming one of others sends none', async () => {
    const mine = await delivered(own.endpoint.uid, 200);
    const theirs = await delivered(others.endpoint.uid, 200);
    const before = receiver.requests.length;
    await portal.post('/eventdeliveries/forceresend', { ids: 'all' }, 400);
    await portal.post('/eventdeliveries/forceresend', { ids: [mine.uid, theirs.uid] }, 400);
    expect((await state(mine)) + (await state(theirs))).toBe('SuccessSuccess');
    await portal.post('/eventdeliveries/forceresend', { ids: [mine.uid] }, 200);
    await receiver.received(before + 1);
    const { num_trials } = (await app.project.get(`/eventdeliveries/${theirs.uid}`)).metadata;
    expect(num_trials).toBe(1);
  });

  test('a batch retry counts and takes own deliveries only', async () => {
    const mine = await delivered(own.endpoint.uid, 500);
    const theirs = await delivered(others.endpoint.uid, 500);
    const { num } = await portal.get('/eventdeliveries/countbatchretryevents?status=Failure');
    expect(num).toBe(1);
    await portal.get('/eventdeliveries/countbatchretryevents?startDate=soon', 400);
    await portal.post('/eventdeliveries/batchretry?startDate=soon', undefined, 400);
    const job = await portal.post('/eventdeliveries/batchretry?status=Failure', undefined, 200);
    const seen = await completedJob(portal, job);
    expect(seen).toMatchObject({ total: 1, done: 1 });
    // Jobs that others have started are not found, also those of another link of the same owner.
    const { token } = await app.project.post('/portal-links', { name: 'other', owner_id: 'own' });
    await new ApiClient(portal.base, token).get(`/jobs/${job.uid}`, 404);
    const other = await app.project.post('/eventdeliveries/batchretry?eventType=none', undefined, 200);
    await portal.get(`/jobs/${other.uid}`, 404);
    await shown(app.project, `/eventdeliveries/${mine.uid}`, { status: 'Success' });
    expect(await state(theirs)).toBe('Failure');
  });

  // differs Requests and answers: Bulk filter update is there as PUT and as POST. Clients send PUT, Convoy has
  //   POST.
  test('filters are made and changed in one go, on own subscriptions', async () => {
    await app.project.post('/event-types', { name: 'more' });
    const base = `/subscriptions/${own.subscription.uid}/filters`;
    const [made] = await portal.post(`${base}/bulk`, [{ event_type: 'more', body: { a: 1 } }]);
    for (const method of ['PUT', 'POST']) {
      const body = [{ uid: made.uid, body: { a: method } }];
      const [changed] = await portal.call(method, `${base}/bulk_update`, { body, expected: 200 });
      expect(changed.raw_body).toEqual({ a: method });
    }
    await portal.post(
      `/subscriptions/${others.subscription.uid}/filters/bulk`,
      [{ event_type: 'more' }],
      404,
    );
  });

  test('own subscriptions are switched off and on, and deleted', async () => {
    const path = (subscription: Json) => `/subscriptions/${subscription.uid}`;
    const toggle = () => portal.put(`${path(own.subscription)}/toggle_status`);
    await toggle();
    expect((await portal.get(path(own.subscription))).status).toBe('inactive');
    await toggle();
    await portal.put(`${path(others.subscription)}/toggle_status`, undefined, 404);
    const body = { name: 'spare', endpoint_id: own.endpoint.uid };
    const spare = await portal.post('/subscriptions', body);
    await portal.delete(path(spare));
    await portal.get(path(spare), 404);
    await portal.delete(path(others.subscription), 404);
    await app.project.get(path(others.subscription));
  });

  // differs Access: Portal callers get 404 for resources of others and 403 for operations that no portal may
  //   use; Convoy says 401 or 400.
  test('operations that are not for portals are 403, and have no path under /portal-api', async () => {
    const inPortal = new Set(operations.filter(({ isPortal }) => isPortal).map(({ caseId }) => caseId));
    const closed = operations.filter(({ path, caseId }) => path.startsWith('/api/') && !inPortal.has(caseId));
    expect(closed.length).toBeGreaterThan(40);
    const root = new ApiClient(app.url, portal.key);
    for (const operation of closed) {
      const path = pathWith(operation, { projectID: app.projectId });
      const response = await root.raw(operation.method, path, {
        body: operation.method === 'GET' ? undefined : {},
      });
      const { code } = (await response.json()) as Json;
      expect([operation.name, response.status, code]).toEqual([
        operation.name,
        403,
        path.startsWith(`/api/v1/projects/`) ? 'portal_forbidden' : expect.any(String),
      ]);
    }
    await portal.post('/events/broadcast', {}, 405);
    await portal.get('/portal-links', 404);
    await portal.get('/keys', 404);
  });
});

describe('who may call', () => {
  test('no caller without a token, with a revoked or with an expired one, on any path', async () => {
    const link = await app.project.post('/portal-links', {
      name: 'l',
      owner_id: 'own',
      can_manage_endpoint: true,
    });
    const expired = await app.project.post('/portal-links', { name: 'l', owner_id: 'own' });
    await app.project.put(`/portal-links/${link.uid}/revoke`, undefined, 200);
    await app.database.query("update portal_links set expires_at = now() - interval '1 s' where id = $1", [
      expired.uid,
    ]);
    const inPortal = operations.filter(({ isPortal }) => isPortal);
    expect(inPortal.length).toBeGreaterThan(50);
    for (const key of ['', 'no token', link.token, expired.token])
      for (const operation of inPortal) {
        const path = pathWith(operation, {
          endpointID: own.endpoint.uid,
          subscriptionID: own.subscription.uid,
        });
        const refused = await new ApiClient(app.url, key).call(operation.method, path, { expected: 401 });
        expect(refused).toMatchObject({ status: false });
      }
  });

  test('an API key, which sees its whole project; the instance key has none', async () => {
    const key = caller(app.project.key);
    expect(uids(await key.get('/endpoints')).sort()).toContain(others.endpoint.uid);
    await key.get('/portal_link', 404);
    expect((await caller(app.instance.key).get('/endpoints', 400)).code).toBe('project_required');
  });

  test('a link not in another project', async () => {
    const { project } = await app.instance.post('/projects', { name: 'other', type: 'outgoing' });
    const other = new ApiClient(`${app.url}/api/v1/projects/${project.uid}`, portal.key);
    expect((await other.get('/endpoints', 403)).code).toBe('project_forbidden');
  });

  test('an endpoint with a new owner is visible to the new owner at once', async () => {
    const moving = await app.project.post('/endpoints', { name: 'm', url: receiver.url, owner_id: 'own' });
    await portal.get(`/endpoints/${moving.uid}`);
    await app.project.put(`/endpoints/${moving.uid}`, { name: 'm', url: receiver.url, owner_id: 'others' });
    await portal.get(`/endpoints/${moving.uid}`, 404);
    expect(uids(await portal.get('/endpoints'))).not.toContain(moving.uid);
  });
});
