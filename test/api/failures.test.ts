import { beforeAll, expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { member } from '../support/session-client.ts';
import { completedJob, shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Failures by endpoint and cause, and what a retry, a cancel or a replay of them would do. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
receiver.answerAlways(({ path }, response) => {
  response.writeHead({ '/broken': 500, '/busy': 503 }[path] ?? 200).end();
});

let project: ApiClient;
let broken: Json;
let busy: Json;
let paused: Json;
let portal: ApiClient;

beforeAll(async () => {
  project = await app.newProject({
    strategy: { type: 'linear', duration: 3_600, retry_count: 2 },
    circuit_breaker: { minimum_request_count: 1_000 },
  });
  const once = { retry_config: { type: 'linear', duration: '1s', retry_count: 0 } };
  broken = (
    await subscribe(project, `${receiver.url}/broken`, {
      eventTypes: ['broken'],
      endpoint: { name: 'Broken', owner_id: 'acme' },
      subscription: once,
    })
  ).endpoint;
  busy = (
    await subscribe(project, `${receiver.url}/busy`, { eventTypes: ['busy'], endpoint: { name: 'Busy' } })
  ).endpoint;
  paused = (await subscribe(project, receiver.url, { eventTypes: ['paused'] })).endpoint;
  await subscribe(project, receiver.url, { eventTypes: ['fine'] });
  await project.put(`/endpoints/${paused.uid}/pause`);
  for (const type of ['broken', 'broken', 'broken', 'busy', 'busy', 'paused', 'fine'])
    await project.post('/events/broadcast', { event_type: type, data: {} });
  await shown(project, '/eventdeliveries/statustotals', { Failure: 3, Retry: 2, Success: 1 });
  portal = await portalOf(project, 'acme');
});

test('failures are grouped by endpoint and cause, the largest first', async () => {
  // Ended failures are found through the counts, which are stored every 10 s.
  const { groups, complete } = await eventually(() => project.get('/failures'), { groups: { length: 2 } });
  expect(complete).toBe(true);
  expect(
    groups.map(({ endpoint_id, outcome, count, retrying, failed }: Json) => [
      endpoint_id,
      outcome,
      count,
      retrying,
      failed,
    ]),
  ).toEqual([
    [broken.uid, 'http_500', 3, 0, 3],
    [busy.uid, 'http_503', 2, 2, 0],
  ]);
  const [first] = groups;
  expect(first).toMatchObject({ endpoint_name: 'Broken', owner_id: 'acme' });
  expect(first.description).toContain('500 Internal Server Error');
  const { content } = await project.get(
    `/eventdeliveries?endpointId=${broken.uid}&outcome=http_500&sort=ASC`,
  );
  expect(content).toHaveLength(first.count);
  expect(first.oldest_at).toBe(content[0].created_at);
  expect(Date.parse(first.last_at)).toBeGreaterThanOrEqual(Date.parse(first.first_at));
  expect((await project.get('/failures?ownerId=acme')).groups).toEqual([first]);
  expect((await project.get(`/failures?endpointId=${busy.uid}`)).groups).toEqual([groups[1]]);
  expect(
    (await project.get('/failures?startDate=2020-01-01T00:00:00&endDate=2020-01-02T00:00:00')).groups,
  ).toEqual([]);
  // A portal sees its owner's endpoints only, another project nothing.
  expect((await portal.get('/failures')).groups).toEqual([first]);
  await portal.get('/failures?startDate=2026-02-30T00:00:00', 400);
  const other = await app.newProject();
  expect(await other.get(`/failures?endpointId=${broken.uid}`)).toEqual({ groups: [], complete: true });
});

test('a group of an endpoint that was deleted keeps its name', async () => {
  const other = await app.newProject();
  const { endpoint } = await subscribe(other, 'http://127.0.0.1:9/', { endpoint: { name: 'Gone' } });
  await other.post('/events/broadcast', { event_type: 'a', data: {} });
  const groups = async () => (await other.get('/failures')).groups;
  expect(await eventually(groups, { length: 1 })).toMatchObject([{ endpoint_deleted: false }]);
  await other.delete(`/endpoints/${endpoint.uid}`);
  expect(await groups()).toMatchObject([{ endpoint_name: 'Gone', endpoint_deleted: true }]);
});

test('a group began with the first failure of its oldest delivery, and no retry moves that', async () => {
  const retried = await app.newProject({ strategy: { type: 'linear', duration: 1, retry_count: 100 } });
  await subscribe(retried, `${receiver.url}/busy`);
  const { uid } = await retried.post('/events/broadcast', { event_type: 'a', data: {} });
  const tried = (times: number) =>
    eventually(async () => (await retried.get(`/eventdeliveries?eventId=${uid}`)).content[0], {
      metadata: { num_trials: atLeast(times) },
    });
  await tried(1);
  const [before] = (await retried.get('/failures')).groups;
  await tried(2);
  const { groups } = await retried.get('/failures');
  expect(groups).toMatchObject([{ count: 1, first_at: before.first_at }]);
  expect(Date.parse(groups[0].last_at)).toBeGreaterThan(Date.parse(before.last_at));
});

test('a group says whether its deliveries can be sent now: not while its endpoint is paused or pulls', async () => {
  const maySend = async (client: ApiClient) =>
    (await client.get('/failures')).groups.map((group: Json) => [group.retrying > 0, group.may_send_now]);
  const { uid } = busy;
  expect((await project.get(`/failures?endpointId=${uid}`)).groups).toMatchObject([{ may_send_now: true }]);
  await project.put(`/endpoints/${uid}/pause`);
  expect((await project.get(`/failures?endpointId=${uid}`)).groups).toMatchObject([{ may_send_now: false }]);
  await project.put(`/endpoints/${uid}/pause`);
  const pulled = await app.newProject({ strategy: { type: 'linear', duration: 3_600, retry_count: 2 } });
  const { endpoint } = await subscribe(pulled, '', { endpoint: { delivery: 'pull' } });
  await pulled.post('/events/broadcast', { event_type: 'a', data: {} });
  const { deliveries } = await pulled.post(`/endpoints/${endpoint.uid}/pull`, {}, 200);
  const results = deliveries.map(({ uid: id, lease }: Json) => ({ uid: id, lease, ok: false, error: 'no' }));
  await pulled.post(`/endpoints/${endpoint.uid}/pull/results`, { results }, 200);
  await eventually(
    () => maySend(pulled),
    ([group]) => group?.[0] === true,
  );
  expect(await maySend(pulled)).toEqual([[true, false]]);
  const { endpoints } = await pulled.get('/health');
  expect(endpoints).toMatchObject([{ may_send_now: false }]);
});

test('a group is muted for everybody until a time, and says by whom', async () => {
  const muted = async (client = project) =>
    (await client.get(`/failures?endpointId=${busy.uid}`)).groups.map((group: Json) => group.muted);
  const group = { endpoint_id: busy.uid, outcome: 'http_503' };
  const before = Date.now();
  const { uid, until } = await project.post('/failures/mutes', group);
  expect(Date.parse(until) - before).toBeGreaterThanOrEqual(86_400_000);
  const [key] = await project.get('/keys');
  expect(await muted()).toEqual([{ uid, until, by: { type: 'api_key', uid: key.uid, name: key.name } }]);

  const person = await member(app, 'developer', project);
  const end = new Date(before + 3_600_000).toISOString();
  await person.client.post('/failures/mutes', { ...group, until: end });
  expect(await muted()).toMatchObject([{ uid, until: end, by: { type: 'person', uid: person.uid } }]);

  // It ends by itself.
  await app.database.query("update failure_mutes set until = now() - interval '1 second' where id = $1", [
    uid,
  ]);
  expect(await muted()).toEqual([null]);
  await project.post('/failures/mutes', group);
  const other = await app.newProject();
  await other.delete(`/failures/mutes/${uid}`, 404);
  await project.delete(`/failures/mutes/${uid}`);
  await project.delete(`/failures/mutes/${uid}`, 404);
  expect(await muted()).toEqual([null]);
});

test('a mute needs a group of the project and an end within 90 days, and is hidden from portal links', async () => {
  const group = { endpoint_id: broken.uid, outcome: 'http_500' };
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  for (const [bad, field] of [
    [{ ...group, outcome: 'magic' }, 'outcome'],
    [{ ...group, outcome: 'http_5xx' }, 'outcome'],
    [{ ...group, until: inDays(-1) }, 'until'],
    [{ ...group, until: inDays(91) }, 'until'],
  ] as const)
    expect((await project.post('/failures/mutes', bad, 400)).message).toContain(field);
  await (await app.newProject()).post('/failures/mutes', group, 404);
  const { uid } = await project.post('/failures/mutes', { ...group, until: inDays(89) });
  const groups = async (client: ApiClient) => (await client.get('/failures')).groups;
  expect((await groups(project)).map(({ muted }: Json) => muted?.uid)).toContain(uid);
  expect((await groups(portal)).map(({ muted }: Json) => muted)).toEqual([null]);
  await project.delete(`/failures/mutes/${uid}`);
});

test('a dry run of a retry counts by endpoint, state and cause, and starts nothing', async () => {
  const job = await project.post('/eventdeliveries/batchretry?dry_run=true&rate=5', undefined, 200);
  expect(job).toMatchObject({ uid: '', type: 'batch_retry', status: 'dry_run', total: 3, rate: 5, done: 0 });
  const { sample, ...counts } = job.dry_run;
  expect(counts).toEqual({
    total: 3,
    deliveries: 3,
    examined: 3,
    is_estimate: false,
    oldest_at: expect.any(String),
    endpoints: 1,
    by_endpoint: [{ endpoint_id: broken.uid, name: 'Broken', count: 3 }],
    by_status: [{ status: 'Failure', count: 3 }],
    by_outcome: [{ outcome: 'http_500', count: 3 }],
  });
  expect(sample).toHaveLength(3);
  expect(sample[0]).toMatchObject({
    event_type: 'broken',
    endpoint_id: broken.uid,
    last_outcome: 'http_500',
  });
  expect((await project.get('/jobs')).content).toEqual([]);
  const none = await project.post('/eventdeliveries/batchretry?dry_run=true&outcome=timeout', undefined, 200);
  expect(none.dry_run).toMatchObject({
    total: 0,
    oldest_at: null,
    endpoints: 0,
    by_endpoint: [],
    sample: [],
  });
});

test('a dry run of a cancel takes its parameters from the query or the body', async () => {
  const body = { dry_run: true, waitingFor: 'paused' };
  for (const [path, given] of [
    ['/eventdeliveries/cancel?dry_run=true&waitingFor=paused', undefined],
    ['/eventdeliveries/cancel', body],
  ] as const) {
    const job = await project.post(path, given, 200);
    expect(job).toMatchObject({ type: 'batch_cancel', status: 'dry_run', total: 1 });
    expect(job.dry_run.by_outcome).toEqual([{ outcome: 'not_sent', count: 1 }]);
    expect(job.dry_run.by_endpoint[0].endpoint_id).toBe(paused.uid);
  }
  expect((await project.get('/jobs')).content).toEqual([]);
  expect((await project.get('/eventdeliveries/waitingtotals')).paused).toBe(1);
});

test('a dry run of a replay counts events', async () => {
  const response = await project.raw('POST', '/events/batchreplay?dry_run=true');
  const { data, job, message } = (await response.json()) as Json;
  expect([response.status, data, message]).toEqual([200, null, 'Dry run: nothing was started']);
  expect(response.headers.get('location')).toBeNull();
  expect(job).toMatchObject({ uid: '', type: 'batch_replay', status: 'dry_run', total: 7 });
  expect(job.dry_run.by_endpoint[0]).toEqual({ endpoint_id: broken.uid, name: 'Broken', count: 3 });
  expect(job.dry_run.by_status).toEqual([{ status: 'Success', count: 7 }]);
  expect(job.dry_run.endpoints).toBe(4);
  const seen = await portal.raw('POST', '/events/batchreplay?dry_run=true');
  expect(((await seen.json()) as Json).job.dry_run).toMatchObject({ total: 3, endpoints: 1 });
  expect((await project.get('/jobs')).content).toEqual([]);
});

test('an option that cannot be read starts nothing', async () => {
  for (const query of ['dry_run=yes', 'dry_run=1', 'rate=0', 'rate=many', 'rate=1.5', 'rate=1001']) {
    for (const path of ['/eventdeliveries/batchretry', '/eventdeliveries/cancel', '/events/batchreplay'])
      expect((await project.post(`${path}?${query}`, undefined, 400)).code).toBe('bad_query');
  }
  expect((await project.post('/eventdeliveries/cancel', { dry_run: 'maybe' }, 400)).code).toBe('bad_query');
  expect((await project.get('/jobs')).content).toEqual([]);
});

test('a job keeps to its rate and shows its progress', async () => {
  const paced = await app.newProject();
  const { endpoint } = await subscribe(paced, receiver.url);
  await paced.put(`/endpoints/${endpoint.uid}/pause`);
  await Promise.all(
    Array.from({ length: 12 }, () => paced.post('/events/broadcast', { event_type: 'a', data: {} })),
  );
  const job = await paced.post('/eventdeliveries/cancel?rate=4', undefined, 200);
  expect(job).toMatchObject({ status: 'queued', rate: 4, total: 12, dry_run: null });
  const done = await completedJob(paced, job);
  expect(done).toMatchObject({ done: 12, failed: 0, total: 12, rate: 4 });
  // Chunks of 4, each at least a second after the one before.
  expect(Date.parse(done.finished_at) - Date.parse(done.started_at)).toBeGreaterThanOrEqual(2_000);
});

test('a retry of one cause sends just those again', async () => {
  const job = await project.post('/eventdeliveries/batchretry?outcome=http_500&rate=1000', undefined, 200);
  expect(job.total).toBe(3);
  await shown(project, `/jobs/${job.uid}`, { status: 'completed', done: 3 });
  await eventually(
    () => project.get(`/eventdeliveries?endpointId=${broken.uid}&status=Failure`),
    ({ content }) => content.length === 3 && content.every((row: Json) => row.metadata.num_trials === 2),
  );
  const { result } = await project.get(`/jobs/${job.uid}`);
  expect(result).toEqual({ delivered: 0, failed: 3, retrying: 0, waiting: 0 });
});

test('a project has at most 500 muted groups, and one that is muted already can get another end', async () => {
  const other = await app.newProject();
  const endpoint = await other.post('/endpoints', { name: 'Shop', url: 'http://127.0.0.1:9/' });
  const group = { endpoint_id: endpoint.uid, outcome: 'http_500' };
  await other.post('/failures/mutes', group);
  await app.database.query(
    `insert into failure_mutes (id, project_id, endpoint_id, outcome, until, actor_type)
     select 'mute ' || n, $1, 'endpoint ' || n, 'timeout', now() + interval '1 hour', 'instance'
     from generate_series(1, 499) n`,
    [other.projectId],
  );
  const refused = await other.post('/failures/mutes', { ...group, outcome: 'timeout' }, 400);
  expect(refused.message).toContain('at most 500 muted groups; unmute one first');
  await other.post('/failures/mutes', group);
});
