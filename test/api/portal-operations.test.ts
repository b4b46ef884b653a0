import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { shared } from '../support/shared.ts';

/** What the holder of a portal link does with deliveries, subscriptions and filters of its own, and cannot do else. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let portal: ApiClient;
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
  portal = new ApiClient(`${app.url}/portal-api`, link.token);
});

/** A delivery to an endpoint, in the state its receiver puts it. */
async function delivered(endpointId: string, answer: number): Promise<Json> {
  receiver.answerAlways(answer);
  const event = await app.project.post('/events', { endpoint_id: endpointId, event_type: 'x', data: {} });
  const { content } = await eventually(
    () => app.project.get(`/eventdeliveries?eventId=${event.uid}`),
    (page) => page.content[0]?.status === (answer === 200 ? 'Success' : 'Failure'),
  );
  receiver.answerAlways(200);
  return content[0];
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

    const { num } = await portal.get('/events/countbatchreplayevents');
    expect(num).toBe((await portal.get('/events?perPage=1000')).content.length);
    expect((await portal.get(`/events/countbatchreplayevents?endpointId=${others.endpoint.uid}`)).num).toBe(
      0,
    );
    const { job } = (await (await portal.raw('POST', '/events/batchreplay')).json()) as Json;
    await eventually(
      () => app.project.get(`/jobs/${job.uid}`),
      (found) => found.status === 'completed',
    );
    expect([await deliveriesTo(own.endpoint), await deliveriesTo(others.endpoint)]).toEqual([3, 1]);
    await portal.get('/events/countbatchreplayevents?startDate=never', 400);
    await portal.post('/events/batchreplay?startDate=never', undefined, 400);
  });

  test('an own failed delivery is sent again; one of others is not found', async () => {
    const mine = await delivered(own.endpoint.uid, 500);
    const theirs = await delivered(others.endpoint.uid, 500);
    await portal.put(`/eventdeliveries/${theirs.uid}/resend`, undefined, 404);
    await portal.put(`/eventdeliveries/${mine.uid}/resend`, undefined, 200);
    await eventually(
      () => state(mine),
      (status) => status === 'Success',
    );
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
    const seen = await eventually(
      () => portal.get(`/jobs/${job.uid}`),
      ({ status }) => status === 'completed',
    );
    expect(seen).toMatchObject({ total: 1, done: 1 });
    // Jobs that others have started are not found, also those of another link of the same owner.
    const { token } = await app.project.post('/portal-links', { name: 'other', owner_id: 'own' });
    await new ApiClient(portal.base, token).get(`/jobs/${job.uid}`, 404);
    const other = await app.project.post('/eventdeliveries/batchretry?eventType=none', undefined, 200);
    await portal.get(`/jobs/${other.uid}`, 404);
    await eventually(
      () => state(mine),
      (status) => status === 'Success',
    );
    expect(await state(theirs)).toBe('Failure');
  });

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

  test.each([
    ['GET', '/event-types'],
    ['POST', '/subscriptions/test_filter'],
    ['POST', '/subscriptions/test_function'],
    ['GET', '/eventdeliveries/countbatchretryevents'],
    ['POST', '/eventdeliveries/batchretry'],
  ])('%s %s needs a token', async (method, path) => {
    const stranger = new ApiClient(portal.base, 'no token');
    const body = method === 'GET' ? undefined : {};
    expect(await stranger.call(method, path, { body, expected: 401 })).toMatchObject({ status: false });
  });
});
