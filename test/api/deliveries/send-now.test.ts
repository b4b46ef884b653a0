import type { ServerResponse } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { failedDeliveries } from '../../support/samples/many-deliveries.ts';
import { openBreaker } from '../../support/samples/open-breaker.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { completedJob, deliveryOf } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** Waits and breakers last an hour here: only a send now can make anything go within a test. */
const HOUR = 3_600;
const config = {
  strategy: { type: 'linear', duration: HOUR, retry_count: 10 },
  circuit_breaker: {
    sample_rate: HOUR,
    error_timeout: HOUR,
    minimum_request_count: 4,
    success_threshold: 100,
  },
};
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

beforeEach(async () => {
  project = await app.newProject(config);
  receiver.requests.length = 0;
  receiver.answerAlways(200);
});

const sendNow = (query = '', client = project): Promise<Json> =>
  client.post(`/eventdeliveries/sendnow${query}`, undefined, 200);
const read = (id: string, client = project): Promise<Json> => client.get(`/eventdeliveries/${id}`);
const settled = (id: string, status: string): Promise<Json> => eventually(() => read(id), { status });
/** A delivery whose first try failed. */
async function waiting(eventType = 'a', client = project): Promise<Json> {
  receiver.answerAlways(500);
  const event = await client.post('/events/broadcast', { event_type: eventType, data: {} });
  const delivery = await deliveryOf(client, event, 'Retry');
  receiver.answerAlways(200);
  return delivery;
}
const waitingFor = async (id: string, client = project) => (await read(id, client)).waiting_for?.gate;

test('a delivery that waits to retry goes now, and only those of the filter', async () => {
  await subscribe(project, receiver.url);
  const [one, two, other] = [await waiting('a'), await waiting('a'), await waiting('b')];
  const stranger = await app.newProject(config);
  await subscribe(stranger, receiver.url);
  const theirs = await waiting('a', stranger);
  const tried = receiver.requests.length;
  const trial = await sendNow('?eventType=a&dry_run=true');
  expect(trial).toMatchObject({ type: 'send_now', status: 'dry_run', dry_run: { deliveries: 2 } });
  expect((await sendNow(`?deliveryId=${one.uid}&waitingFor=paused&dry_run=true`)).dry_run.total).toBe(0);
  expect(await waitingFor(one.uid)).toBe('retry');

  const first = await sendNow(`?deliveryId=${one.uid}`);
  expect(first).toMatchObject({ type: 'send_now', total: 1 });
  expect(await completedJob(project, first)).toMatchObject({ total: 1, done: 1, failed: 0 });
  expect((await settled(one.uid, 'Success')).metadata.num_trials).toBe(2);
  expect(await completedJob(project, await sendNow('?eventType=a'))).toMatchObject({ done: 1 });
  await settled(two.uid, 'Success');
  expect(receiver.requests).toHaveLength(tried + 2);
  expect([await waitingFor(other.uid), await waitingFor(theirs.uid, stranger)]).toEqual(['retry', 'retry']);
});

test('filters that no waiting delivery can have are refused, and so are unknown ones', async () => {
  const refuse = async (query: string) =>
    (await project.post(`/eventdeliveries/sendnow?${query}`, undefined, 400)).message;
  expect(await refuse('status=Success')).toContain('only Scheduled, Processing and Retry');
  expect(await refuse('waitingFor=pull')).toContain('must be one of retry, circuit_breaker');
  expect(await refuse('endpointid=x')).toContain('endpointid');
  expect(await refuse('rate=0')).toContain('from 1 to 1000');
});

test('a pause and a rate limit hold a delivery that was sent now', async () => {
  const paused = await subscribe(project, `${receiver.url}/paused`, { eventTypes: ['paused'] });
  const held = await waiting('paused');
  await project.put(`/endpoints/${paused.endpoint.uid}/pause`);
  await subscribe(project, `${receiver.url}/limited`, {
    eventTypes: ['limited'],
    endpoint: { rate_limit: 1, rate_limit_duration: HOUR },
  });
  const limited = await waiting('limited');
  const tried = receiver.requests.length;
  expect(await completedJob(project, await sendNow())).toMatchObject({ done: 2, failed: 0 });
  expect([await waitingFor(held.uid), await waitingFor(limited.uid)]).toEqual(['paused', 'rate_limit']);
  await project.put(`/endpoints/${paused.endpoint.uid}/pause`);
  await settled(held.uid, 'Success');
  expect(await waitingFor(limited.uid)).toBe('rate_limit');
  expect(receiver.requests).toHaveLength(tried + 1);
});

test('behind an open breaker one probe goes, and its success releases the rest', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  const deliveries = [await waiting(), await waiting(), await waiting()];
  await openBreaker(app, project, endpoint);
  const late = await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const tried = receiver.requests.length;
  const probe: ServerResponse[] = [];
  receiver.answerNext((_, response) => probe.push(response));
  // The probe is the delivery of the filter, not the oldest one.
  const chosen = deliveries[2] as Json;
  await completedJob(project, await sendNow(`?deliveryId=${chosen.uid}`));
  await receiver.received(tried + 1);
  await completedJob(project, await sendNow());
  expect(await waitingFor(chosen.uid)).toBe('sending');
  expect(await waitingFor((deliveries[0] as Json).uid)).toBe('circuit_breaker');
  expect(receiver.requests).toHaveLength(tried + 1);
  probe[0]?.end();
  for (const { uid } of deliveries) expect((await settled(uid, 'Success')).metadata.num_trials).toBe(2);
  await deliveryOf(project, late, 'Success');
  expect((await project.get(`/endpoints/${endpoint.uid}`)).cb_state).toBe('closed');
});

test('a probe that fails uses a try and leaves the others waiting', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  const deliveries = [await waiting(), await waiting(), await waiting()];
  await openBreaker(app, project, endpoint);
  const tried = receiver.requests.length;
  receiver.answerAlways(500);
  await completedJob(project, await sendNow());
  const breaker = () =>
    app.database.query('select trips from endpoint_breakers where endpoint_id = $1', [endpoint.uid]);
  await eventually(breaker, [{ trips: 2 }]);
  const trials = await Promise.all(
    deliveries.map(async ({ uid }) => (await read(uid)).metadata.num_trials as number),
  );
  expect(trials.toSorted((a, b) => a - b)).toEqual([1, 1, 2]);
  const states = await Promise.all(deliveries.map(({ uid }) => waitingFor(uid)));
  expect(states.filter((gate) => gate === 'circuit_breaker').length).toBeGreaterThanOrEqual(2);
  expect(receiver.requests).toHaveLength(tried + 1);
});

test('deliveries of pull endpoints are left out, and refused where there are no others', async () => {
  const pulled = await project.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  await project.post('/subscriptions', { name: 's', endpoint_id: pulled.uid, event_types: ['a'] });
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  for (const query of ['', `?endpointId=${pulled.uid}`, '?dry_run=true']) {
    const { code, message } = await project.post(`/eventdeliveries/sendnow${query}`, undefined, 400);
    expect([code, message]).toEqual(['wrong_state', expect.stringContaining('consumer to pull')]);
  }
  await subscribe(project, receiver.url, { eventTypes: ['b'] });
  const delivery = await waiting('b');
  expect(await completedJob(project, await sendNow())).toMatchObject({ total: 1, done: 1, failed: 0 });
  await settled(delivery.uid, 'Success');
});

test('a delivery of an inactive endpoint is not discarded, and one in flight is not touched', async () => {
  const { endpoint } = await subscribe(project, receiver.url, { eventTypes: ['a'] });
  const delivery = await waiting('a');
  receiver.answerNext(410);
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  await eventually(() => project.get(`/endpoints/${endpoint.uid}`), { status: 'inactive' });
  expect(await completedJob(project, await sendNow())).toMatchObject({ done: 0, failed: 1 });
  expect((await read(delivery.uid)).status).toBe('Retry');

  await subscribe(project, receiver.url, { eventTypes: ['b'] });
  const tried = receiver.requests.length;
  const held: ServerResponse[] = [];
  receiver.answerNext((_, response) => held.push(response));
  const event = await project.post('/events/broadcast', { event_type: 'b', data: {} });
  await receiver.received(tried + 1);
  expect(await completedJob(project, await sendNow('?eventType=b'))).toMatchObject({ total: 0, done: 0 });
  held[0]?.end();
  expect((await deliveryOf(project, event)).metadata.num_trials).toBe(1);
  expect(receiver.requests).toHaveLength(tried + 1);
});

test('two calls at the same time send each delivery once', async () => {
  await subscribe(project, receiver.url);
  const deliveries = [await waiting(), await waiting(), await waiting()];
  const tried = receiver.requests.length;
  const jobs = await Promise.all([sendNow(), sendNow()]);
  await Promise.all(jobs.map((job) => completedJob(project, job)));
  for (const { uid } of deliveries) expect((await settled(uid, 'Success')).metadata.num_trials).toBe(2);
  expect(receiver.requests).toHaveLength(tried + 3);
});

test('with a rate, so many become due per second, also those that a breaker held', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  await waiting();
  await openBreaker(app, project, endpoint);
  for (let n = 0; n < 4; n++) await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const tried = receiver.requests.length;
  const probe: ServerResponse[] = [];
  receiver.answerNext((_, response) => probe.push(response));
  const job = await sendNow('?rate=2');
  expect(await completedJob(project, job)).toMatchObject({ rate: 2, done: 5 });
  await receiver.received(tried + 1);
  const rows = await app.database.query(
    `select extract(epoch from q.due_at - min(q.due_at) over ()) * 1000 as ms, q.due_at = d.next_send_at as is_shown
     from delivery_queue q join event_deliveries d on d.id = q.delivery_id
     where q.project_id = $1 and q.node_id is null order by q.delivery_id`,
    [project.projectId],
  );
  expect(rows.map((row) => Math.round(Number(row['ms'])))).toEqual([0, 500, 1_000, 1_500]);
  expect(rows.every((row) => row['is_shown'] === true)).toBe(true);
  probe[0]?.end();
  await receiver.received(tried + 5);
});

test('a portal link with the right to retry sends the deliveries of its own endpoints', async () => {
  const own = await subscribe(project, `${receiver.url}/own`, { endpoint: { owner_id: 'own' } });
  const link = { name: 'own', owner_id: 'own', can_retry: true };
  const { token } = await project.post('/portal-links', link);
  const portal = new ApiClient(`${app.url}/portal-api`, token);
  const mine = await waiting();
  const others = await subscribe(project, `${receiver.url}/others`, { endpoint: { owner_id: 'others' } });
  receiver.answerAlways(500);
  const { uid } = await project.post('/events', {
    endpoint_id: others.endpoint.uid,
    event_type: 'b',
    data: {},
  });
  const theirs = await deliveryOf(project, { uid }, 'Retry');
  receiver.answerAlways(200);
  expect(await completedJob(portal, await sendNow('', portal))).toMatchObject({ total: 1, done: 1 });
  await settled(mine.uid, 'Success');
  const wide = await sendNow(`?endpointId=${others.endpoint.uid}&endpointId=${own.endpoint.uid}`, portal);
  expect(await completedJob(portal, wide)).toMatchObject({ done: 0 });
  expect(await waitingFor(theirs.uid)).toBe('retry');
  const { token: looking } = await project.post('/portal-links', { ...link, can_retry: false });
  await new ApiClient(portal.base, looking).post('/eventdeliveries/sendnow', undefined, 403);
});

test('two nodes send more than one chunk, each delivery once, after one probe', async ({
  onTestFinished,
}) => {
  const scene = await startTestApp({ POSTHORN_ROLES: 'api,janitor' });
  onTestFinished(() => scene.stop());
  await Promise.all([1, 2].map(() => scene.addNode({ POSTHORN_ROLES: 'api,deliver' })));
  await scene.project.put('', { name: 'p', config });
  const { endpoint, subscription } = await subscribe(scene.project, receiver.url);
  const ids = await failedDeliveries(scene, { endpoint, subscription, count: 1_200 });
  await scene.database.query(
    `update event_deliveries set status = 'Retry', retry_limit = 10, next_send_at = now() + interval '1 hour'`,
  );
  await scene.database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select id, event_id, project_id, endpoint_id, 1, next_send_at from event_deliveries`,
  );
  await openBreaker(scene, scene.project, endpoint);
  // The probe fails while later chunks run. They ask for no other one.
  receiver.answerAlways(500);
  await completedJob(scene.project, await sendNow('', scene.project));
  await eventually(() => scene.database.query('select trips from endpoint_breakers'), [{ trips: 2 }]);
  expect(receiver.requests).toHaveLength(1);
  receiver.answerAlways(200);
  receiver.requests.length = 0;
  const probe: ServerResponse[] = [];
  receiver.answerNext((_, response) => probe.push(response));
  const job = await completedJob(scene.project, await sendNow('', scene.project));
  expect(job).toMatchObject({ total: 1_200, done: 1_200, failed: 0 });
  await receiver.received(1);
  // Either node may send it, and each claims rows of its own.
  expect(receiver.requests.map(({ headers }) => ids.includes(String(headers['webhook-id'])))).toEqual([true]);
  probe[0]?.end();
  await receiver.received(1_200);
  const states = [
    { status: 'Success', num_trials: 2, count: 1_199 },
    { status: 'Success', num_trials: 3, count: 1 },
  ];
  await eventually(
    () =>
      scene.database.query(
        'select status, num_trials, count(*)::int from event_deliveries group by 1, 2 order by 2',
      ),
    (rows) => JSON.stringify(rows) === JSON.stringify(states),
  );
  expect(receiver.requests).toHaveLength(1_200);
});
