import { expect, test } from 'vitest';
import { firstIdAt, idTime } from '../../../src/domain/ids.ts';
import { ensurePartitions } from '../../../src/store/upkeep/partitions.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { atLeast, eventually, not } from '../../support/eventually.ts';
import { holdKey } from '../../support/held-key.ts';
import { linesOf } from '../../support/log-lines.ts';
import { copyEvent } from '../../support/samples/copied-events.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { deliveryOf, endedJob } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const { log, lines } = linesOf('debug');
const app = await shared(startTestApp({}, log));
const receiver = await shared(Receiver.start());

async function start(
  client: ApiClient,
  path: string,
  body?: object,
): Promise<{ answer: Json; location: string }> {
  const response = await client.raw('POST', path, { body });
  expect(response.ok).toBe(true);
  return { answer: await response.json(), location: response.headers.get('location') ?? '' };
}

// differs Events and deliveries: Batch retry and onboarding answer with a job, batch replay with `data: null`
//   and `job`. Callers see when it ends; convoy-go reads a text or null.
test('a batch replay returns null and the job, other jobs return the job; all name its path', async () => {
  const client = await app.newProject();
  const replay = await start(client, '/events/batchreplay');
  expect(replay.answer).toMatchObject({ status: true, data: null, job: { type: 'batch_replay' } });
  const jobs = [
    { ...replay, job: replay.answer.job },
    ...(await Promise.all(
      [
        start(client, '/eventdeliveries/batchretry'),
        start(client, '/eventdeliveries/cancel'),
        start(client, '/onboard', { items: [{ name: 'n', url: receiver.url }] }),
      ].map(async (started) => ({ ...(await started), job: (await started).answer.data })),
    )),
  ];
  for (const { job, location } of jobs) {
    expect(location).toBe(`/api/v1/projects/${client.projectId}/jobs/${job.uid}`);
    const read = await fetch(`${app.url}${location}`, { headers: { authorization: client.key } });
    expect(await read.json()).toMatchObject({ data: { uid: job.uid } });
  }
});

test('with only_endpoint a batch replay sends to the endpoints of the filter alone', async () => {
  const client = await app.newProject();
  const [one] = [
    await subscribe(client, `${receiver.url}/one`),
    await subscribe(client, `${receiver.url}/two`),
  ];
  const event = await client.post('/events/broadcast', { event_type: 'a', data: {} });
  const sentTo = async () =>
    (await client.get(`/eventdeliveries?eventId=${event.uid}`)).content.map(
      ({ endpoint_metadata: endpoint }: Json) => new URL(endpoint.url).pathname,
    );
  const replay = async (query: string) =>
    endedJob(client, (await start(client, `/events/batchreplay?${query}`)).answer.job);
  await replay(`endpointId=${one.endpoint.uid}&only_endpoint=true`);
  expect((await sentTo()).sort()).toEqual(['/one', '/one', '/two']);
  await replay(`endpointId=${one.endpoint.uid}`);
  expect((await sentTo()).sort()).toEqual(['/one', '/one', '/one', '/two', '/two']);
  const refused = await client.post('/events/batchreplay?only_endpoint=true', undefined, 400);
  expect(refused.message).toContain('only_endpoint');
  // A misspelt filter, or a flag that is neither true nor false, would replay to everyone.
  const named = `endpointId=${one.endpoint.uid}`;
  for (const query of ['eventType=x', `${named}&only_endpoint=1`, `${named}&only_endpoints=true`])
    await client.post(`/events/batchreplay?${query}`, undefined, 400);
  await client.put(`/events/${event.uid}/replay?${named}`, undefined, 400);
  expect(await sentTo()).toHaveLength(5);
  // Convoy's clients send the parameters of lists, which have no effect here.
  await replay(`perPage=5&sort=ASC&direction=next&next_page_cursor=&prev_page_cursor=&idempotencyKey=none`);
});

test('to_owner and to_endpoint limit whom a replay is sent to, and choose no events', async () => {
  const client = await app.newProject();
  const acme = { endpoint: { owner_id: 'acme' } };
  const one = await subscribe(client, `${receiver.url}/acme-1`, acme);
  const two = await subscribe(client, `${receiver.url}/acme-2`, acme);
  const other = await subscribe(client, `${receiver.url}/other`, { endpoint: { owner_id: 'globex' } });
  const event = await client.post('/events/broadcast', { event_type: 'a', data: {} });
  // It is for another customer alone. A replay to acme passes over it, which is no failure.
  await client.post('/events', { endpoint_id: other.endpoint.uid, event_type: 'a', data: {} });
  const [toOne, toTwo] = [one, two].map(({ endpoint }) => `to_endpoint=${endpoint.uid}`);
  const replay = async (query: string) => {
    const { job } = (await start(client, `/events/batchreplay?${query}`)).answer;
    return endedJob(client, job);
  };
  /** The paths that get something, sorted. */
  const sentBy = async (act: () => Promise<unknown>) => {
    const all = async () =>
      (await client.get('/eventdeliveries?perPage=100')).content.map(
        ({ endpoint_metadata: endpoint }: Json) => new URL(endpoint.url).pathname,
      );
    const before = await all();
    await act();
    const after = await all();
    return after.slice(0, after.length - before.length).sort();
  };
  const both = ['/acme-1', '/acme-2'];
  const job = { total: 2, done: 2, failed: 0 };
  expect(
    await sentBy(async () =>
      expect(await replay('to_owner=acme')).toMatchObject({ ...job, endpoints: 2, owner_id: 'acme' }),
    ),
  ).toEqual(both);
  expect(
    await sentBy(async () =>
      expect(await replay(`${toTwo}`)).toMatchObject({ ...job, endpoints: 1, endpoint_id: two.endpoint.uid }),
    ),
  ).toEqual(['/acme-2']);
  expect(await sentBy(() => replay(`to_owner=acme&${toOne}&${toTwo}`))).toEqual(both);
  expect(
    await sentBy(async () =>
      expect(await replay('ownerId=acme')).toMatchObject({ total: 1, endpoints: null }),
    ),
  ).toEqual([...both, '/other']);
  expect((await start(client, `/events/batchreplay?dry_run=true&to_owner=acme`)).answer.job).toMatchObject({
    endpoints: 2,
    dry_run: { total: 2, deliveries: 2, endpoints: 2 },
  });
  const single = `/events/${event.uid}/replay`;
  expect(await sentBy(() => client.put(`${single}?to_owner=acme`, undefined, 200))).toEqual(both);
  expect(await sentBy(() => client.put(`${single}?${toOne}`, undefined, 200))).toEqual(['/acme-1']);
  expect(await client.get(`/events/${event.uid}/explain?to_owner=acme`)).toMatchObject({
    replay_deliveries: 2,
    replay_endpoints: 2,
  });
  expect(await client.get(`/events/${event.uid}/explain`)).toMatchObject({ replay_endpoints: 3 });
  const nowhere = [
    'to_owner=unknown',
    'to_endpoint=01ARZ3NDEKTSV4RRFFQ69G5FAV',
    `to_owner=globex&${toOne}`,
    `endpointId=${two.endpoint.uid}&only_endpoint=true&${toOne}`,
  ];
  const refused = async () => {
    for (const query of nowhere) {
      const { message } = await client.post(`/events/batchreplay?${query}`, undefined, 400);
      expect([query, message]).toEqual([query, expect.stringMatching(/to_owner|to_endpoint/)]);
    }
    await client.put(`${single}?to_owner=unknown`, undefined, 400);
  };
  expect(await sentBy(refused)).toEqual([]);
  // An event that was for acme and no longer reaches it could not be replayed.
  for (const { subscription } of [one, two]) await client.delete(`/subscriptions/${subscription.uid}`);
  expect(await replay('to_owner=acme')).toMatchObject({ total: 2, done: 1, failed: 1 });
});

test('a dry run counts what the replay makes under the current subscriptions', async () => {
  const client = await app.newProject();
  const first = await subscribe(client, `${receiver.url}/first`, { endpoint: { owner_id: 'acme' } });
  const gone = await subscribe(client, `${receiver.url}/gone`);
  const direct = await client.post('/events', {
    endpoint_id: first.endpoint.uid,
    event_type: 'a',
    data: {},
  });
  await client.post('/events/broadcast', { event_type: 'a', data: {} });
  await client.post('/events/fanout', { owner_id: 'acme', event_type: 'a', data: {} });
  await client.delete(`/endpoints/${gone.endpoint.uid}`);
  const later = await subscribe(client, `${receiver.url}/later`, { endpoint: { name: 'Later' } });
  await subscribe(client, `${receiver.url}/acme`, { endpoint: { owner_id: 'acme' } });
  const none = await client.post('/events/fanout', { owner_id: 'unknown', event_type: 'a', data: {} });
  const dryRun = async (query = '') =>
    (await start(client, `/events/batchreplay?dry_run=true${query}`)).answer.job.dry_run;
  const deliveries = async () => (await client.get('/eventdeliveries?perPage=100')).content;
  const before = await deliveries();
  const counted = await dryRun();
  expect(counted).toMatchObject({ total: 4, deliveries: 6, endpoints: 3, examined: 4, is_estimate: false });
  expect(counted.by_endpoint[0]).toEqual({ endpoint_id: first.endpoint.uid, name: 'endpoint', count: 3 });
  expect(counted.by_endpoint[2]).toEqual({ endpoint_id: later.endpoint.uid, name: 'Later', count: 1 });
  const named = `&endpointId=${first.endpoint.uid}&only_endpoint=true`;
  expect(await dryRun(named)).toMatchObject({ total: 3, deliveries: 3, endpoints: 1 });
  const replays = async ({ uid }: Json) => (await client.get(`/events/${uid}/explain`)).replay_deliveries;
  expect([await replays(direct), await replays(none)]).toEqual([1, 0]);
  expect(await deliveries()).toHaveLength(before.length);
  await endedJob(client, (await start(client, '/events/batchreplay')).answer.job);
  expect(await deliveries()).toHaveLength(before.length + 6);
});

test('a dry run of many events matches the oldest of them, and says that it estimates', async () => {
  const client = await app.newProject();
  await subscribe(client, receiver.url, { eventTypes: ['many'] });
  const event = await client.post('/events/broadcast', { event_type: 'many', data: {} });
  await copyEvent(app, event, 2_499);
  const { job } = (await start(client, '/events/batchreplay?dry_run=true')).answer;
  expect(job.dry_run).toMatchObject({ total: 2500, deliveries: 2500, is_estimate: true });
  // Fewer on a machine that is too busy for them.
  expect(job.dry_run.examined).toBeLessThanOrEqual(2000);
  expect(job.dry_run.by_endpoint).toMatchObject([{ count: 2500 }]);
});

test('a replay reads an event of a node whose clock is ahead, if it was answered before', async () => {
  const client = await app.newProject();
  await subscribe(client, receiver.url);
  const event = await client.post('/events/broadcast', { event_type: 'ahead', data: {} });
  const ahead = firstIdAt(idTime(event.uid) + 2_000);
  await app.database.query('update events set id = $1 where id = $2', [ahead, event.uid]);
  const { job } = (await start(client, '/events/batchreplay')).answer;
  expect(job.uid > ahead).toBe(true);
  expect(await endedJob(client, job)).toMatchObject({ status: 'completed', done: 1 });
});

test('a replay reads an event that got its id before the job and is committed after it began', async () => {
  const client = await app.newProject();
  await subscribe(client, receiver.url);
  const second = await app.addNode({ POSTHORN_ROLES: 'api' });
  for (const [index, { url }] of [app.app, second].entries()) {
    const key = `held-${index}`;
    const held = await holdKey(app, client.projectId, key);
    const sender = new ApiClient(client.base.replace(app.url, url), client.key);
    const sent = sender.post('/events/broadcast', { event_type: key, data: {}, idempotency_key: key });
    await held.waiting();
    const { job } = (await start(client, `/events/batchreplay?idempotencyKey=${key}`)).answer;
    // A job that read up to its own id now would find nothing and end.
    const begun = await eventually(() => client.get(`/jobs/${job.uid}`), { status: not('queued') });
    expect(begun).toMatchObject({ status: 'running', total: 0, done: 0 });
    await held.release();
    const event = await sent;
    expect(event.uid < job.uid).toBe(true);
    expect(await endedJob(client, job)).toMatchObject({ status: 'completed', total: 1, done: 1 });
    const { content } = await client.get(`/eventdeliveries?eventId=${event.uid}`);
    expect(content).toHaveLength(2);
  }
  await second.stop();
});

test('a replay waits for no fixed time, with one node and with several', async () => {
  const client = await app.newProject();
  await subscribe(client, receiver.url);
  await client.post('/events/broadcast', { event_type: 'a', data: {} });
  // The waits that the chunks of jobs choose.
  await app.database.query(`
    create table job_waits (job_id text, seconds float8);
    create function note_wait() returns trigger language plpgsql as $$ begin
      insert into job_waits values (new.id, extract(epoch from new.due_at - clock_timestamp())); return new;
    end $$;
    create trigger note_wait after update on jobs for each row
      when (new.status = 'running' and new.updated_at > old.updated_at) execute function note_wait()`);
  const replay = async () => {
    const { job } = (await start(client, '/events/batchreplay')).answer;
    expect(await endedJob(client, job)).toMatchObject({ status: 'completed', done: 1 });
    return app.database.query('select seconds from job_waits where job_id = $1 and seconds > 1', [job.uid]);
  };
  expect(await replay()).toEqual([]);
  const nodes = [await app.addNode({ POSTHORN_ROLES: 'api' }), await app.addNode({ POSTHORN_ROLES: 'api' })];
  expect(await replay()).toEqual([]);
  await Promise.all(nodes.map((node) => node.stop()));
  await app.database.query('drop trigger note_wait on jobs; drop function note_wait; drop table job_waits');
});

test('a replay whose filter ends before uncommitted events runs at once', async () => {
  const client = await app.newProject();
  await subscribe(client, receiver.url, { eventTypes: ['old'] });
  const hourAgo = Date.now() - 3_600_000;
  await ensurePartitions(app.app.db, hourAgo, 86_400_000);
  await app.database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'old', 'Success', false, '{}', '{}', now())`,
    [firstIdAt(hourAgo), client.projectId],
  );
  const endDate = new Date(hourAgo + 60_000).toISOString().slice(0, 19);
  const { job } = (await start(client, `/events/batchreplay?endDate=${endDate}`)).answer;
  const done = await endedJob(client, job);
  expect(done).toMatchObject({ status: 'completed', total: 1, done: 1 });
  // Both are set by the chunk that ends the job, if it is the first: one that waits comes 5 s later.
  expect(Date.parse(done.finished_at) - Date.parse(done.started_at)).toBeLessThan(4_000);
});

test('the jobs of a deleted project are cancelled, and no error is logged', async () => {
  const client = await app.newProject();
  await subscribe(client, receiver.url);
  const event = { event_type: 'a', data: {} };
  await Promise.all(Array.from({ length: 20 }, () => client.post('/events/broadcast', event)));
  // One event each second, so that the job has not ended when its project is deleted.
  const { job } = (await start(client, '/events/batchreplay?rate=1')).answer;
  await eventually(() => client.get(`/jobs/${job.uid}`), { status: 'running' });
  await client.delete('');
  const state = async () =>
    (await app.database.query('select status, error, sealed from jobs where id = $1', [job.uid]))[0];
  const last = await eventually(state, (row) => row?.['status'] !== 'running');
  expect(last).toEqual({ status: 'cancelled', error: 'The project was deleted.', sealed: null });
  expect(lines().filter(({ level }) => level >= 40)).toEqual([]);
});

test('failure rates of a period count deliveries, not attempts', async () => {
  const client = await app.newProject();
  await client.put('', { config: { strategy: { type: 'linear', duration: 1, retry_count: 3 } } });
  const { endpoint } = await subscribe(client, `${receiver.url}/fail`);
  const rates = async () =>
    (await client.get(`/endpoints/period-failure-rates?endpointId=${endpoint.uid}`))[0];
  expect(await rates()).toMatchObject({ period_failure_rate: null, success_count: 0, failure_count: 0 });
  receiver.answerAlways(500);
  const event = await client.post('/events/broadcast', { event_type: 'a', data: {} });
  await deliveryOf(client, event, 'Failure');
  receiver.answerAlways(200);
  await client.post('/events/broadcast', { event_type: 'a', data: {} });
  const counted = await eventually(rates, { success_count: atLeast(1) });
  expect(counted).toEqual({
    uid: endpoint.uid,
    period_failure_rate: 50,
    success_count: 1,
    failure_count: 1,
    retry_count: 0,
  });
});

test('a search finds events by the name of their source, and by text and JSON together', async () => {
  const client = await app.newProject();
  const source = await client.post('/sources', { name: 'Billing System', type: 'rest_api' });
  const send = (event_type: string, data: object, rest = {}) =>
    client.post('/events/broadcast', { event_type, data, ...rest });
  const [billed, first] = [
    await send('a', {}, { source_id: source.uid }),
    await send('invoice.paid', { n: 1 }),
    await send('invoice.paid', { n: 2 }),
    await send('order.paid', { n: 1 }),
  ];
  const found = async (query: string) =>
    (await client.get(`/events?query=${encodeURIComponent(query)}`)).content.map(({ uid }: Json) => uid);
  expect(await found('billing')).toEqual([billed.uid]);
  for (const query of ['invoice {"n":1}', '{"n":1} invoice', 'invoice{"n":1}'])
    expect([query, await found(query)]).toEqual([query, [first.uid]]);
  expect(await found('{"n":1}')).toHaveLength(2);
  expect(await found('invoice')).toHaveLength(2);
  expect(await found('no {json')).toEqual([]);
  await client.get(`/events?query=${encodeURIComponent('{"n":')}`, 400);
});
