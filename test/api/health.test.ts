import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { countStatements } from '../support/count-statements.ts';
import { eventually } from '../support/eventually.ts';
import { openBreaker } from '../support/samples/open-breaker.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** How endpoints and customers do: the same numbers as time series, waiting totals and lists give. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
receiver.answerAlways(({ path }, response) => {
  const status = { '/broken': 500, '/gone': 410 }[path] ?? 200;
  response.writeHead(status).end();
});

const STATE = ['state', 'failing_since', 'recovered_at', 'sent_since', 'held_by', 'held_until'];
const SLOW_RETRY = { strategy: { type: 'linear', duration: 3600, retry_count: 3 } };

/** Four endpoints of two customers and one without: fine, failing, paused, disabled. */
async function scene() {
  const project = await app.newProject(SLOW_RETRY);
  const add = async (name: string, path: string, owner_id: string) =>
    (
      await subscribe(project, `${receiver.url}${path}`, {
        eventTypes: [name],
        endpoint: { name, owner_id },
      })
    ).endpoint.uid as string;
  const ids = {
    fine: await add('fine', '/', 'acme'),
    failing: await add('failing', '/broken', 'globex'),
    paused: await add('paused', '/', 'acme'),
    quiet: await add('quiet', '/', ''),
  };
  await project.put(`/endpoints/${ids.paused}/pause`);
  for (const type of ['fine', 'fine', 'failing', 'failing', 'failing', 'paused'])
    await project.post('/events/broadcast', { event_type: type, data: {} });
  await eventually(() => project.get('/timeseries'), { totals: { attempts: 5 } });
  return { project, ids };
}

const named = (rows: Json[], name: string): Json => rows.find((row) => row.name === name)!;

test('the worst endpoint comes first, with its cause, what waits and the same numbers as everywhere', async () => {
  const { project, ids } = await scene();
  const health = await project.get('/health');
  expect(health.endpoints.map(({ name, state }: Json) => [name, state])).toEqual([
    ['failing', 'failing'],
    ['paused', 'held'],
    ['fine', 'ok'],
    ['quiet', 'ok'],
  ]);
  expect(health.by_state).toEqual({ failing: 1, disabled: 0, degraded: 0, held: 1, recovered: 0, ok: 2 });
  const failing = named(health.endpoints, 'failing');
  expect(failing).toMatchObject({
    endpoint_id: ids.failing,
    owner_id: 'globex',
    may_send_now: true,
    attempts: 3,
    failed_attempts: 3,
    failed_share: 100,
    delivered: 0,
    failed: 0,
    open: 3,
    last_success_at: null,
    last_failure: { outcome: 'http_500', description: 'The endpoint answered 500 Internal Server Error' },
  });
  expect(Date.parse(failing.failing_since)).toBeLessThanOrEqual(Date.now());
  expect(Date.parse(failing.oldest_at)).toBeLessThanOrEqual(Date.now());
  expect(named(health.endpoints, 'paused')).toMatchObject({
    open: 1,
    waiting_for: { paused: 1 },
    may_send_now: false,
  });
  expect(named(health.endpoints, 'fine')).toMatchObject({
    attempts: 2,
    failed_share: 0,
    delivered: 2,
    open: 0,
    oldest_at: null,
    last_failure: null,
  });
  expect(named(health.endpoints, 'quiet')).toMatchObject({ attempts: 0, failed_share: null });
  for (const one of health.endpoints) {
    const of = `endpointId=${one.endpoint_id}`;
    const { totals } = await project.get(`/timeseries?${of}`);
    for (const name of ['attempts', 'failed_attempts', 'delivered', 'failed', 'discarded'])
      expect([one.name, name, one[name]]).toEqual([one.name, name, totals[name]]);
    const totalsOfGates = await project.get(`/eventdeliveries/waitingtotals?${of}`);
    expect({ ...one.waiting_for, complete: true }).toEqual(totalsOfGates);
  }
});

test('one reading serves it, so it waits once for the other reads of its project', async () => {
  const { project } = await scene();
  const readings = countStatements(/^set transaction read only/);
  await project.get('/health');
  expect(readings()).toBe(1);
});

test('an endpoint has recovered when enough succeeded after its last failure, for an hour, in every window', async () => {
  const { project, ids } = await scene();
  const past = (minutesAgo: number, attempts: number, failed = 0) =>
    app.database.query(
      `insert into recent_counts (project_id, endpoint_id, minute, attempts, failed_attempts, delivered)
       values ($1, $2, date_trunc('minute', now()) - $3 * interval '1 minute', $4::int, $5::int, $4::int - $5::int)`,
      [project.projectId, ids.quiet, minutesAgo, attempts, failed],
    );
  const state = async (query = '') => {
    const { endpoints, by_state } = await project.get(`/health?${query}`);
    const { state: own, sent_since, recovered_at, last_failure } = named(endpoints, 'quiet');
    expect(by_state[own]).toBeGreaterThan(0);
    const listed = await project.get(`/endpoints/${ids.quiet}`);
    expect([listed.state, listed.sent_since, listed.recovered_at !== null]).toEqual([
      own,
      sent_since,
      recovered_at !== null,
    ]);
    return [own, sent_since, recovered_at !== null, last_failure];
  };
  const day = `startDate=${new Date(Date.now() - 86_400_000).toISOString()}`;
  await past(90, 5, 5);
  await past(80, 1);
  expect([await state(), await state(day)]).toEqual([
    ['ok', 0, false, null],
    ['ok', 0, false, null],
  ]);
  await past(20, 4, 4);
  expect(await state()).toEqual(['failing', 0, false, null]);
  await past(20, 4);
  expect(await state()).toEqual(['degraded', 0, false, null]);
  await past(19, 1);
  const recovered = ['recovered', 1, true, null];
  expect([await state(), await state(day)]).toEqual([recovered, recovered]);
  expect(await state('startDate=2026-01-01T00:00:00&endDate=2026-01-01T01:00:00')).toEqual(recovered);
  // Half of the attempts fail.
  await past(0, 2, 1);
  expect(await state()).toEqual(['degraded', 0, false, null]);
  await past(-1, 9);
  expect(await state()).toEqual(['degraded', 0, false, null]);
  await past(-1, 1);
  expect(await state()).toEqual(['recovered', 10, true, null]);
  // Every second attempt fails: the last one succeeded, and the next will fail.
  await app.database.query('delete from recent_counts where endpoint_id = $1', [ids.quiet]);
  for (const minutesAgo of [20, 16, 12, 8]) await past(minutesAgo, 1, 1);
  for (const minutesAgo of [18, 14, 10, 6]) await past(minutesAgo, 1);
  expect(await state()).toEqual(['degraded', 0, false, null]);
});

test('an endpoint has the state of its health in every list, and says what holds it', async () => {
  const { project, ids } = await scene();
  await project.put(`/endpoints/${ids.quiet}`, { is_disabled: true });
  await openBreaker(app, project, { uid: ids.fine });
  const states = (rows: Json[]) =>
    Object.fromEntries(rows.map(({ name, ...row }) => [name, STATE.map((field) => row[field])]));
  const { endpoints } = await project.get('/health');
  const expected = {
    fine: ['failing', null, null, 0, 'circuit_breaker', expect.any(String)],
    failing: ['failing', expect.any(String), null, 0, '', null],
    paused: ['held', null, null, 0, 'paused', null],
    quiet: ['disabled', null, null, 0, '', null],
  };
  expect(states(endpoints)).toEqual(expected);
  const reads = countStatements(/from delivery_queue/);
  const { content } = await project.get('/endpoints');
  expect(reads()).toBe(1);
  expect(states(content)).toEqual(states(endpoints));
  const { token } = await project.post('/portal-links', { name: 'link', owner_id: 'globex' });
  const own = await new ApiClient(`${app.url}/portal-api`, token).get('/endpoints');
  expect(states(own.content)).toEqual({ failing: states(endpoints).failing });
  expect(content.find(({ name }: Json) => name === 'paused').status).toBe('paused');
});

test('an endpoint whose deliveries still wait and one that was disabled are not failing', async () => {
  const { project, ids } = await scene();
  await project.put(`/endpoints/${ids.failing}`, { name: 'failing', url: receiver.url });
  await project.post('/events/broadcast', { event_type: 'failing', data: {} });
  const seen = await eventually(
    () => project.get('/health'),
    ({ endpoints }) => named(endpoints, 'failing').delivered === 1,
  );
  expect(named(seen.endpoints, 'failing')).toMatchObject({
    state: 'degraded',
    failing_since: expect.any(String),
  });
  expect(named(seen.endpoints, 'failing').last_success_at).not.toBeNull();
  await project.put(`/endpoints/${ids.quiet}`, { name: 'quiet', url: `${receiver.url}/gone` });
  await project.post('/events/broadcast', { event_type: 'quiet', data: {} });
  const after = await eventually(() => project.get('/health'), { by_state: { disabled: 1 } });
  expect(after.endpoints[0]).toMatchObject({
    name: 'quiet',
    failed: 1,
    last_failure: { outcome: 'http_410' },
  });
});

test('customers are sums of their endpoints, the worst first, and a portal sees its own only', async () => {
  const { project } = await scene();
  const { customers, endpoints } = await project.get('/health?by=customer');
  expect(endpoints).toEqual([]);
  expect(customers.map(({ owner_id, state, open }: Json) => [owner_id, state, open])).toEqual([
    ['globex', 'failing', 3],
    ['acme', 'held', 1],
    ['', 'ok', 0],
  ]);
  expect(customers[0]).toMatchObject({
    endpoints: 1,
    failing_endpoints: 1,
    worst_endpoint_name: 'failing',
    failed_share: 100,
  });
  expect(customers[1]).toMatchObject({ endpoints: 2, attempts: 2, delivered: 2, failing_endpoints: 0 });
  const { token } = await project.post('/portal-links', { name: 'link', owner_id: 'acme' });
  const portal = new ApiClient(`${app.url}/portal-api`, token);
  const own = await portal.get('/health');
  expect(own.endpoints.map(({ name }: Json) => name)).toEqual(['paused', 'fine']);
  expect(JSON.stringify(await portal.get('/health?by=customer&ownerId=globex'))).not.toContain('globex');
  const globex = await project.post('/portal-links', { name: 'link', owner_id: 'globex' });
  const [seen] = (await new ApiClient(`${app.url}/portal-api`, globex.token).get('/health')).endpoints;
  const [failing] = (await project.get('/health?ownerId=globex')).endpoints;
  expect(seen.last_failure).toEqual(failing.last_failure);
  const emptyLink = await project.post('/portal-links', { name: 'link', owner_id: 'initech' });
  const none = await new ApiClient(`${app.url}/portal-api`, emptyLink.token).get('/health');
  expect(none).toMatchObject({ endpoints: [], complete: true, by_state: { failing: 0, ok: 0 } });
});

test('an endpoint that failed before has its cause, however many deliveries wait or were discarded since', async () => {
  const { project, ids } = await scene();
  await project.put(`/endpoints/${ids.failing}/pause`);
  const add = (status: string, count: number) =>
    app.database.query(
      `insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
       is_at_most_once, is_exponential, interval_seconds, max_retry_seconds, retry_limit, num_trials, updated_at)
     select left(id, 10) || 'Z' || lpad(n::text, 15, '0'), project_id, event_id, endpoint_id, subscription_id, event_type,
       $2, is_at_most_once, is_exponential, interval_seconds, max_retry_seconds, retry_limit, 0, now()
     from (select * from event_deliveries where endpoint_id = $1 limit 1) d, generate_series(1, $3::int) n
     on conflict do nothing`,
      [ids.failing, status, count],
    );
  const cause = async () => named((await project.get('/health')).endpoints, 'failing').last_failure;
  await add('Scheduled', 300);
  expect(await cause()).toMatchObject({ outcome: 'http_500' });
  await app.database.query('delete from delivery_queue where key = $1', [ids.failing]);
  await add('Discarded', 3_000);
  expect(await cause()).toMatchObject({ outcome: 'http_500' });
});

test('a test that fails is no cause and is counted nowhere', async () => {
  const { project, ids } = await scene();
  await project.put(`/endpoints/${ids.quiet}`, { name: 'quiet', url: `${receiver.url}/broken` });
  await project.post(`/endpoints/${ids.quiet}/test`, undefined, 200);
  const seen = named((await project.get('/health')).endpoints, 'quiet');
  expect(seen).toMatchObject({ state: 'ok', attempts: 0, failed: 0, open: 0, last_failure: null });
});

test('the number of rows, customers and endpoints can be chosen, and bad values are refused', async () => {
  const { project, ids } = await scene();
  expect((await project.get('/health?limit=1')).endpoints).toHaveLength(1);
  expect((await project.get('/health?limit=1')).by_state.ok).toBe(2);
  const one = await project.get(`/health?endpointId=${ids.fine}&endpointId=${ids.quiet}`);
  expect(one.endpoints.map(({ name }: Json) => name)).toEqual(['fine', 'quiet']);
  expect((await project.get('/health?ownerId=globex')).endpoints).toHaveLength(1);
  for (const query of ['limit=0', 'limit=1001', 'limit=many', 'startDate=never', 'by=owner'])
    expect((await project.get(`/health?${query}`, 400)).code).toBe('bad_query');
  const before = await project.get('/health?startDate=2026-01-01T00:00:00&endDate=2026-01-01T01:00:00');
  expect(named(before.endpoints, 'failing')).toMatchObject({ attempts: 0, failed_share: null, open: 3 });
});
