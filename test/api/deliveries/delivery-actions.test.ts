import { beforeEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { deliveryOf, endedJob, shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

/** A project of its own for each test, whose deliveries are tried once. */
beforeEach(async () => {
  const strategy = { type: 'linear', duration: 600, retry_count: 1 };
  project = await app.newProject({ strategy });
  receiver.requests.length = 0;
  receiver.answerAlways(200);
});

/** Sends an event and waits until its one delivery has this status. */
async function deliver(status: string, client = project): Promise<Json> {
  const event = await client.post('/events/broadcast', { event_type: 'a', data: { n: 1 } });
  return deliveryOf(client, event, status);
}

const settled = (id: string, status: string): Promise<Json> =>
  shown(project, `/eventdeliveries/${id}`, { status });

const jobEnds = (job: Json): Promise<Json> => endedJob(project, job);

// differs Events and deliveries: A resend has all its retries again, and `num_trials` keeps counting. Otherwise
//   it would fail at once.
test('a failed delivery is resent with a fresh budget while its attempts keep counting', async () => {
  await subscribe(project, receiver.url, {
    subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 } },
  });
  receiver.answerAlways(500);
  const failed = await deliver('Failure');
  expect(failed.metadata).toMatchObject({ num_trials: 2, retry_limit: 2 });
  receiver.answerNext(500);
  receiver.answerAlways(200);
  const resent = await project.put(`/eventdeliveries/${failed.uid}/resend`, undefined, 200);
  expect(resent).toMatchObject({ uid: failed.uid, status: 'Scheduled' });
  const delivered = await settled(failed.uid, 'Success');
  expect(delivered.metadata.num_trials).toBe(4);
  expect(await project.get(`/eventdeliveries/${failed.uid}/deliveryattempts`)).toHaveLength(4);
});

test('only failed and discarded deliveries can be resent, and only to an existing active endpoint', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  const sent = await deliver('Success');
  const refuse = async (id: string) =>
    (await project.put(`/eventdeliveries/${id}/resend`, undefined, 400)).message;
  expect(await refuse(sent.uid)).toContain('already succeeded');
  receiver.answerAlways(410);
  const failed = await deliver('Failure');
  await shown(project, `/endpoints/${endpoint.uid}`, { status: 'inactive' });
  expect(await refuse(failed.uid)).toContain('inactive');
  await project.post(`/endpoints/${endpoint.uid}/activate`, undefined, 202);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  const held = await project.put(`/eventdeliveries/${failed.uid}/resend`, undefined, 200);
  expect(held.status).toBe('Scheduled');
  expect(await refuse(failed.uid)).toContain('still in progress');
  receiver.answerAlways(200);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await settled(failed.uid, 'Success');
  expect((await project.put('/eventdeliveries/01ARZ3NDEKTSV4RRFFQ69G5FAV/resend', undefined, 404)).code).toBe(
    'not_found',
  );
});

test('a delivery to a deleted endpoint cannot be resent', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  receiver.answerAlways(500);
  const failed = await deliver('Failure');
  await project.delete(`/endpoints/${endpoint.uid}`);
  const { message } = await project.put(`/eventdeliveries/${failed.uid}/resend`, undefined, 400);
  expect(message).toContain('deleted');
});

test('successful deliveries are sent again by force, all or none', async () => {
  await subscribe(project, receiver.url);
  const [one, two] = [await deliver('Success'), await deliver('Success')];
  receiver.answerAlways(500);
  const failed = await deliver('Failure');
  receiver.answerAlways(200);
  const before = receiver.requests.length;
  const ids = [one.uid, two.uid];
  const mixed = await project.post('/eventdeliveries/forceresend', { ids: [...ids, failed.uid] }, 400);
  expect(mixed.message).toContain(failed.uid);
  await project.post('/eventdeliveries/forceresend', { ids: [] }, 400);
  await project.post('/eventdeliveries/forceresend', { ids: [...ids, 'nothing'] }, 400);
  const answer = await project.post('/eventdeliveries/forceresend', { ids: [...ids, one.uid] }, 200);
  expect(answer).toEqual({ successful: 2, failed: 0 });
  await receiver.received(before + 2);
  for (const id of ids) {
    const delivery = await settled(id, 'Success');
    expect(delivery.metadata.num_trials).toBe(2);
  }
  expect(receiver.requests).toHaveLength(before + 2);
});

test('a batch retry takes failed and discarded deliveries, and counts those that cannot be sent', async () => {
  const good = await subscribe(project, `${receiver.url}/good`, { eventTypes: ['a'] });
  receiver.answerAlways(500);
  const failed = await deliver('Failure');
  await project.put(`/endpoints/${good.endpoint.uid}/pause`);
  const gone = await subscribe(project, `${receiver.url}/gone`, { eventTypes: ['b'] });
  const lost = await project.post('/events/broadcast', { event_type: 'b', data: {} });
  await deliveryOf(project, lost, 'Failure');
  await project.delete(`/endpoints/${gone.endpoint.uid}`);
  await project.put(`/endpoints/${good.endpoint.uid}/pause`);
  receiver.answerAlways(200);
  await deliver('Success');
  expect(await project.get('/eventdeliveries/countbatchretryevents')).toEqual({ num: 2 });
  expect(await project.get(`/eventdeliveries/countbatchretryevents?endpointId=${good.endpoint.uid}`)).toEqual(
    { num: 1 },
  );
  const job = await project.post('/eventdeliveries/batchretry', undefined, 200);
  expect(job).toMatchObject({ type: 'batch_retry', total: 2 });
  expect(await jobEnds(job)).toMatchObject({ status: 'completed', total: 2, done: 1, failed: 1 });
  await settled(failed.uid, 'Success');
  const { result } = await project.get(`/jobs/${job.uid}`);
  expect(result).toEqual({ delivered: 1, failed: 0, retrying: 0, waiting: 0 });
  const { message } = await project.post('/eventdeliveries/batchretry?status=Success', undefined, 400);
  expect(message).toContain('forceresend');
  await project.post('/eventdeliveries/batchretry?status=Nonsense', undefined, 400);
});

test('a batch retry takes those that ended since a time, and no tests unless they are named', async () => {
  const { endpoint } = await subscribe(project, receiver.url, { eventTypes: ['a'] });
  receiver.answerAlways(500);
  const [early, late] = [await deliver('Failure'), await deliver('Failure')];
  await project.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
  const count = async (query: string) =>
    (await project.get(`/eventdeliveries/countbatchretryevents?${query}`)).num;
  const since = `endedSince=${late.updated_at}`;
  expect([await count(''), await count(since), await count('eventType=posthorn.test')]).toEqual([2, 1, 1]);
  const listed = async (query: string) =>
    (await project.get(`/eventdeliveries?status=Failure&eventType=a&${query}`)).content.map(
      ({ uid }: Json) => uid,
    );
  expect(await listed(since)).toEqual([late.uid]);
  expect(await listed(`endedSince=${early.updated_at}`)).toHaveLength(2);
  await project.get('/eventdeliveries?endedSince=soon', 400);
  receiver.answerAlways(200);
  const sent = receiver.requests.length;
  expect(
    await jobEnds(await project.post(`/eventdeliveries/batchretry?${since}`, undefined, 200)),
  ).toMatchObject({
    total: 1,
    done: 1,
  });
  await settled(late.uid, 'Success');
  expect(receiver.requests).toHaveLength(sent + 1);
});

test('cancelling discards the matching open deliveries, and they can be resent', async () => {
  const first = await subscribe(project, `${receiver.url}/first`, { eventTypes: ['a'] });
  const second = await subscribe(project, `${receiver.url}/second`, { eventTypes: ['b'] });
  for (const { endpoint } of [first, second]) await project.put(`/endpoints/${endpoint.uid}/pause`);
  const events: Json[] = [];
  for (const type of ['a', 'a', 'b'])
    events.push(await project.post('/events/broadcast', { event_type: type, data: {} }));
  expect((await project.get('/eventdeliveries?status=Scheduled')).content).toHaveLength(3);
  const byQuery = await project.post(
    `/eventdeliveries/cancel?endpointId=${first.endpoint.uid}`,
    undefined,
    200,
  );
  expect(await jobEnds(byQuery)).toMatchObject({
    type: 'batch_cancel',
    status: 'completed',
    total: 2,
    done: 2,
  });
  expect((await project.get('/eventdeliveries?status=Scheduled')).content).toHaveLength(1);
  const cancelled = (await project.get('/eventdeliveries?status=Discarded')).content;
  expect(cancelled.map((delivery: Json) => delivery.description)).toEqual(['Cancelled.', 'Cancelled.']);
  for (const { cancelled_at, created_at } of cancelled) expect(cancelled_at >= created_at).toBe(true);
  expect((await project.get('/eventdeliveries?cancelled=true')).content).toHaveLength(2);
  expect((await project.get('/eventdeliveries?cancelled=false')).content).toHaveLength(1);
  const byBody = await project.post(
    '/eventdeliveries/cancel',
    { endpointId: [second.endpoint.uid], status: null },
    200,
  );
  expect(await jobEnds(byBody)).toMatchObject({ done: 1 });
  expect(await project.get('/eventdeliveries/statustotals')).toMatchObject({
    Discarded: 3,
    Scheduled: 0,
  });
  for (const { endpoint } of [first, second]) await project.put(`/endpoints/${endpoint.uid}/pause`);
  await project.put(`/eventdeliveries/${cancelled[0].uid}/resend`, undefined, 200);
  expect((await settled(cancelled[0].uid, 'Success')).cancelled_at).toBeNull();
  expect(receiver.requests).toHaveLength(1);
  await project.post('/eventdeliveries/cancel?status=Success', undefined, 400);
  await project.post('/eventdeliveries/cancel', { endpointId: 7 }, 400);
  await project.post('/eventdeliveries/cancel', '{', 400);
});

test('a misspelt filter cancels and retries nothing, in the query or the body', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const unknown = 'endpoint; did you mean endpointId?';
  const refused = async (path: string, body?: unknown) =>
    (await project.post(`/eventdeliveries/${path}`, body, 400)).message;
  expect(await refused('cancel?endpoint=none')).toBe(`unknown query parameter ${unknown}`);
  expect(await refused('cancel?endpointId[]=none')).toContain('unknown query parameter endpointId[]');
  expect(await refused('cancel?perPage=1')).toContain('unknown query parameter perPage');
  expect(await refused('batchretry?endpoint=none')).toBe(`unknown query parameter ${unknown}`);
  expect(await refused('cancel', { endpoint: 'none' })).toBe(`unknown field ${unknown}`);
  expect(await refused('cancel', ['none'])).toBe('body: must be an object');
  expect(await refused('cancel', '"endpoint"')).toBe('body: must be an object');
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, 1]));
  expect((await refused('cancel', many)).split('; ')).toHaveLength(20);
  await project.delete(`/endpoints/${endpoint.uid}?dry_run=true`, 400);
  expect((await project.get('/jobs')).content).toEqual([]);
  expect(await project.get('/eventdeliveries/statustotals')).toMatchObject({ Scheduled: 1, Discarded: 0 });
});

test('deliveries that are named by their ids are listed, cancelled and retried, and no others', async () => {
  const { endpoint } = await subscribe(project, receiver.url);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  for (const n of [1, 2, 3]) await project.post('/events/broadcast', { event_type: 'a', data: { n } });
  const { content } = await project.get('/eventdeliveries');
  const [first, second, third] = content.map(({ uid }: Json) => uid);
  const named = `deliveryId=${first}&deliveryId=${third}`;
  const listed = await project.get(`/eventdeliveries?${named}`);
  expect(listed.content.map(({ uid }: Json) => uid)).toEqual([first, third]);
  const job = await jobEnds(await project.post(`/eventdeliveries/cancel?${named}`, undefined, 200));
  expect(job).toMatchObject({ total: 2, done: 2 });
  expect((await project.get(`/eventdeliveries/${second}`)).status).toBe('Scheduled');
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await jobEnds(await project.post(`/eventdeliveries/batchretry?deliveryId=${third}`, undefined, 200));
  await settled(third, 'Success');
  expect((await project.get(`/eventdeliveries/${first}`)).status).toBe('Discarded');
});

test('a delivery cancelled while it is being sent stays discarded, and the old attempt does not end a resend', async () => {
  await subscribe(project, receiver.url);
  const answers: (() => void)[] = [];
  receiver.answerAlways((_, response) => answers.push(() => response.writeHead(200).end('ok')));
  const event = await project.post('/events/broadcast', { event_type: 'a', data: {} });
  await receiver.received(1);
  await jobEnds(await project.post('/eventdeliveries/cancel', undefined, 200));
  const delivery = await deliveryOf(project, event, 'Discarded');
  receiver.answerAlways(500);
  await project.put(`/eventdeliveries/${delivery.uid}/resend`, undefined, 200);
  answers[0]?.();
  const failed = await settled(delivery.uid, 'Failure');
  expect(failed.metadata.num_trials).toBe(1);
  const attempts = await project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);
  expect(attempts.map((a: Json) => [a.status, a.is_stale]).sort()).toEqual([
    [false, false],
    [true, true],
  ]);
});

test('deliveries are listed by each filter', async () => {
  const { endpoint, subscription } = await subscribe(project, `${receiver.url}/1`, { eventTypes: ['a'] });
  const other = await subscribe(project, `${receiver.url}/2`, { eventTypes: ['b'] });
  const a = await project.post('/events/broadcast', {
    event_type: 'a',
    data: {},
    idempotency_key: 'k',
    custom_headers: { 'x-broker-message-id': 'm-7' },
  });
  await deliveryOf(project, a, 'Success');
  const b = await project.post('/events/broadcast', { event_type: 'b', data: {} });
  await deliveryOf(project, b, 'Success');
  const events = async (query: string) =>
    (await project.get(`/eventdeliveries?${query}`)).content.map((delivery: Json) => delivery.event_id);
  expect(await events('')).toEqual([b.uid, a.uid]);
  expect(await events('sort=ASC')).toEqual([a.uid, b.uid]);
  expect(await events(`endpointId=${endpoint.uid}`)).toEqual([a.uid]);
  expect(await events(`endpointId=${endpoint.uid}&endpointId=${other.endpoint.uid}`)).toEqual([b.uid, a.uid]);
  expect(await events(`endpointId=${endpoint.uid}&endpointId=${other.endpoint.uid}&perPage=1`)).toEqual([
    b.uid,
  ]);
  expect(await events(`subscriptionId=${subscription.uid}`)).toEqual([a.uid]);
  expect(await events(`eventId=${b.uid}`)).toEqual([b.uid]);
  expect(await events('eventType=a')).toEqual([a.uid]);
  expect(await events('event_type=b')).toEqual([b.uid]);
  expect(await events('status=Success')).toEqual([b.uid, a.uid]);
  expect(await events('status=Scheduled&status=Retry')).toEqual([]);
  expect(await events('status=Scheduled&status=Success')).toEqual([b.uid, a.uid]);
  expect(await events('idempotencyKey=k')).toEqual([a.uid]);
  expect(await events('idempotencyKey=other')).toEqual([]);
  expect(await events('brokerMessageId=m-7')).toEqual([a.uid]);
  expect(await events('startDate=2099-01-01T00:00:00')).toEqual([]);
  const totals = await project.get(`/eventdeliveries/statustotals?endpointId=${endpoint.uid}`);
  expect(totals).toEqual({ Scheduled: 0, Processing: 0, Discarded: 0, Failure: 0, Success: 1, Retry: 0 });
});

test('a test sends a sample like a real delivery and returns the attempt', async () => {
  const endpoint = await project.post('/endpoints', { name: 'e', url: `${receiver.url}/test` });
  // A caller that wants nothing sent gets no sample by mistake.
  await project.post(`/endpoints/${endpoint.uid}/test?dry_run=true`, undefined, 400);
  const attempt = await project.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
  expect(receiver.requests).toHaveLength(1);
  expect(attempt).toMatchObject({
    status: true,
    http_status: '200 OK',
    endpoint_id: endpoint.uid,
    response_data: 'ok',
  });
  expect(receiver.requests[0]?.headers['x-convoy-signature']).toBeTruthy();
  expect(receiver.requests[0]?.json.endpoint_id).toBe(endpoint.uid);
  const delivery = await project.get(`/eventdeliveries/${attempt.msg_id}`);
  expect(delivery).toMatchObject({ event_type: 'posthorn.test', status: 'Success' });
});

test('a test that fails is not repeated, and one of a paused endpoint is refused', async () => {
  const { endpoint } = await subscribe(project, receiver.url, {
    subscription: { retry_config: { type: 'linear', interval_seconds: 600, retry_count: 5 } },
  });
  receiver.answerAlways(503);
  const attempt = await project.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
  expect(attempt).toMatchObject({ status: false, http_status: '503 Service Unavailable' });
  expect(await project.get(`/eventdeliveries/${attempt.msg_id}`)).toMatchObject({ status: 'Failure' });
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  expect((await project.post(`/endpoints/${endpoint.uid}/test`, undefined, 400)).code).toBe('wrong_state');
});
