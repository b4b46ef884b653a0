import { expect, test } from 'vitest';
import { RECEIVER_URL } from '../../../src/domain/delivery.ts';
import type { App } from '../../../src/start/app.ts';
import { addUpCounts } from '../../../src/store/counts/add-up-counts.ts';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** Counts over time, of a project, its endpoints and its sources. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let flaky = 500;
receiver.answerAlways(
  ({ path }, response) => void response.writeHead({ '/broken': 500, '/flaky': flaky }[path] ?? 200).end(),
);

const totals = async (client: ApiClient, query = '') => (await client.get(`/timeseries?${query}`)).totals;

test('accepted, delivered and failed are counted for project, endpoint and source', async () => {
  const node: App = await app.addNode();
  const project = await app.newProject({ strategy: { type: 'linear', duration: 1, retry_count: 1 } });
  const onNode = new ApiClient(`${node.url}/api/v1/projects/${project.projectId}`, project.key);
  const good = await subscribe(project, receiver.url, {
    eventTypes: ['good'],
    endpoint: { owner_id: 'acme' },
  });
  const bad = await subscribe(project, `${receiver.url}/broken`, { eventTypes: ['bad'] });
  const source = await project.post('/sources', { name: 'source', type: 'rest_api' });
  for (let n = 0; n < 3; n++)
    await onNode.post('/events/broadcast', { event_type: 'good', data: {}, source_id: source.uid });
  await onNode.post('/events/broadcast', { event_type: 'bad', data: {} });
  await onNode.post('/events/broadcast', { event_type: 'unmatched', data: {} });
  await eventually(() => project.get('/eventdeliveries/statustotals'), { Success: 3, Failure: 1 });
  // Outcomes are counted in the commit that records them. Events are counted by their node, which stores them at its stop.
  expect(await totals(project)).toMatchObject({ delivered: 3, failed: 1, attempts: 4 });
  await node.stop();
  const whole = await totals(project);
  expect(whole).toMatchObject({ accepted: 5, delivered: 3, failed: 1, attempts: 4, failed_attempts: 1 });
  expect(whole.latency.p50).toBeGreaterThan(0);
  expect(whole.latency.p99).toBeGreaterThanOrEqual(whole.latency.p50);
  expect(await totals(project, `endpointId=${good.endpoint.uid}`)).toMatchObject({
    accepted: 3,
    delivered: 3,
    failed: 0,
  });
  expect(await totals(project, `endpointId=${bad.endpoint.uid}`)).toMatchObject({
    accepted: 1,
    failed: 1,
    latency: null,
  });
  expect(
    await totals(project, `endpointId=${bad.endpoint.uid}&endpointId=${good.endpoint.uid}`),
  ).toMatchObject({ accepted: 4 });
  expect(await totals(project, `sourceId=${source.uid}`)).toMatchObject({
    accepted: 3,
    delivered: 3,
    failed: 0,
  });
  await addUpCounts(app.app.db, new AbortController().signal);
  expect(await totals(project)).toEqual(whole);
  // The same counts as hours and days.
  for (const step of ['hour', 'day']) {
    const start = new Date(Date.now() - 3 * 86_400_000).toISOString();
    const series = await project.get(`/timeseries?step=${step}&startDate=${start}`);
    expect(series.totals).toEqual(whole);
    expect(series.points.length).toBe(step === 'hour' ? 73 : 4);
    const sum = series.points.reduce((all: number, point: Json) => all + point.accepted, 0);
    expect(sum).toBe(5);
  }
  // Nothing of another project, and a portal sees its owner's endpoints only.
  const other = await app.newProject();
  expect(await totals(other, `endpointId=${good.endpoint.uid}`)).toMatchObject({ accepted: 0 });
  expect(await totals(other, `sourceId=${source.uid}`)).toMatchObject({ accepted: 0 });
  const portal = await portalOf(project, 'acme');
  expect(await totals(portal)).toMatchObject({ accepted: 3, delivered: 3, failed: 0 });
  expect(await totals(portal, `endpointId=${bad.endpoint.uid}`)).toMatchObject({ accepted: 0, failed: 0 });
  expect(await totals(portal, `sourceId=${source.uid}`)).toMatchObject({ accepted: 0 });
  const narrow = await portalOf(project, 'acme', { event_types: ['good'] });
  expect((await narrow.get('/timeseries', 403)).code).toBe('portal_forbidden');
});

test('a range without traffic has a point for each step', async () => {
  const quiet = await app.newProject();
  const series = await quiet.get('/timeseries?startDate=2026-01-01T00:00:00&endDate=2026-01-01T00:59:59');
  expect(series.step).toBe('minute');
  expect(series.points).toHaveLength(60);
  expect(series.points[0]).toEqual({
    start: '2026-01-01T00:00:00.000Z',
    accepted: 0,
    delivered: 0,
    failed: 0,
    discarded: 0,
    attempts: 0,
    failed_attempts: 0,
    resent_attempts: 0,
    latency: null,
  });
  expect((await quiet.get('/timeseries')).points).toHaveLength(61);
  const long = await quiet.get('/timeseries?startDate=2026-01-01T00:00:00&endDate=2026-03-01T00:00:00');
  expect([long.step, long.points.length]).toEqual(['day', 60]);
});

test('an opening of a breaker is there until it closes and after, and a failed probe is none', async () => {
  const project = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 100 },
    circuit_breaker: { sample_rate: 1, error_timeout: 1, minimum_request_count: 4, success_threshold: 1 },
  });
  const { endpoint } = await subscribe(project, `${receiver.url}/flaky`, {
    endpoint: { name: 'Shop', owner_id: 'acme' },
  });
  const source = await project.post('/sources', { name: 'source', type: 'rest_api' });
  const openings = async (query = '', client: ApiClient = project): Promise<Json[]> =>
    (await client.get(`/timeseries?${query}`)).breaker_openings;
  const fail = async () => {
    flaky = 500;
    for (let n = 0; n < 4; n++) await project.post('/events/broadcast', { event_type: 'a', data: {} });
  };
  expect(await openings()).toEqual([]);
  await fail();
  const [first] = await eventually(openings, { length: 1 });
  expect(first).toMatchObject({ endpoint_id: endpoint.uid, endpoint_name: 'Shop', owner_id: 'acme' });
  await eventually(
    () => app.database.query('select trips from endpoint_breakers where endpoint_id = $1', [endpoint.uid]),
    ([breaker]) => Number(breaker?.['trips']) > 1,
  );
  expect(await openings()).toEqual([{ ...first, closed_at: null }]);
  flaky = 200;
  const [closed] = await eventually(openings, ([opening]) => opening?.['closed_at'] !== null);
  expect(closed).toEqual({ ...first, closed_at: expect.any(String) });
  expect(Date.parse(closed?.['closed_at'])).toBeGreaterThan(Date.parse(first?.['opened_at']));
  await fail();
  const both = await eventually(openings, { length: 2 });
  expect(both).toEqual([closed, { ...first, opened_at: expect.any(String), closed_at: null }]);
  // They belong to this endpoint and its owner, and to nothing else.
  expect(await openings(`endpointId=${endpoint.uid}`)).toEqual(both);
  expect(await openings('endpointId=another')).toEqual([]);
  expect(await openings(`sourceId=${source.uid}`)).toEqual([]);
  expect(await openings('startDate=2020-01-01T00:00:00&endDate=2020-01-01T01:00:00')).toEqual([]);
  expect(await openings('', await app.newProject())).toEqual([]);
  for (const [owner_id, seen] of [
    ['acme', both],
    ['globex', []],
  ] as const) {
    const { token } = await project.post('/portal-links', { name: 'link', owner_id });
    expect(await openings('', new ApiClient(`${app.url}/portal-api`, token))).toEqual(seen);
  }
  // The last hundred turns are kept.
  await app.database.query(
    `update endpoint_breakers set turned_at = array(
       select now() - (200 - n) * interval '1 hour' from generate_series(1, 100) n) where endpoint_id = $1`,
    [endpoint.uid],
  );
  flaky = 200;
  const [last] = await eventually(openings, ([opening]) => opening?.['closed_at'] !== null);
  expect(Date.parse(last?.['opened_at'])).toBeLessThan(Date.now() - 99 * 3_600_000);
  const kept = await app.database.query(
    'select cardinality(turned_at) as count from endpoint_breakers where endpoint_id = $1',
    [endpoint.uid],
  );
  expect(kept).toEqual([{ count: 100 }]);
});

test('a bad step, too many points and two kinds of subject are refused', async () => {
  const range = 'startDate=2026-01-01T00:00:00&endDate=2026-03-01T00:00:00';
  for (const query of [
    'step=second',
    `step=minute&${range}`,
    'endpointId=a&sourceId=b',
    'startDate=yesterday',
  ]) {
    expect((await app.project.get(`/timeseries?${query}`, 400)).code).toBe('bad_query');
  }
});

test('each delivery counts in the state that it ended in last, resends count apart and have no latency, tests and the built-in receiver count nowhere', async () => {
  const project = await app.newProject({ strategy: { type: 'linear', duration: 1, retry_count: 1 } });
  const bad = await subscribe(project, `${receiver.url}/broken`, { eventTypes: ['bad'] });
  const paused = await subscribe(project, receiver.url, { eventTypes: ['paused'] });
  await subscribe(project, RECEIVER_URL, { eventTypes: ['bad'] });
  await project.put(`/endpoints/${paused.endpoint.uid}/pause`);
  await project.post('/events/broadcast', { event_type: 'paused', data: {} });
  await project.post('/events/broadcast', { event_type: 'bad', data: {} });
  await project.post(`/endpoints/${bad.endpoint.uid}/test`, {}, 200);
  await eventually(() => totals(project), { failed: 1 });
  await project.post('/eventdeliveries/cancel', {}, 200);
  await eventually(() => totals(project), { discarded: 1 });
  await project.put(`/endpoints/${bad.endpoint.uid}`, { url: receiver.url, name: 'mended' });
  await project.post('/eventdeliveries/batchretry?status=Failure', {}, 200);
  const after = await eventually(() => totals(project), { delivered: 1 });
  // A delivery that is open again is counted in no state.
  expect(after).toMatchObject({
    failed: 0,
    discarded: 1,
    attempts: 2,
    failed_attempts: 1,
    resent_attempts: 1,
    latency: null,
  });
  expect(await totals(project, `endpointId=${paused.endpoint.uid}`)).toMatchObject({
    attempts: 0,
    discarded: 1,
  });
  const [{ uid }] = (await project.get('/eventdeliveries?status=Discarded')).content;
  await app.database.query(
    `update event_deliveries set updated_at = updated_at - interval '3 days' where id = $1`,
    [uid],
  );
  await project.put(`/eventdeliveries/${uid}/resend`, undefined, 200);
  await project.put(`/eventdeliveries/${uid}/resend`, undefined, 400);
  // It leaves the time of its end, of which minutes are no longer kept.
  await addUpCounts(app.app.db, new AbortController().signal);
  const traffic = await app.database.query(
    `select step, discarded from traffic where subject_id = $1 and start < now() - interval '1 day'`,
    [project.projectId],
  );
  expect(traffic).toEqual([{ step: 60, discarded: -1 }]);
});

test('counts are the same while nodes add them up, and each is added once', async () => {
  const project = await app.newProject();
  const [minutes, perMinute] = [3, 400];
  await app.database.query(
    `insert into recent_counts (project_id, endpoint_id, source_id, minute, attempts, delivered, latencies)
     select $1, 'e' || n % 20, 's' || n % 3, date_trunc('minute', now()) - m * interval '1 minute', 2, 1, array[n % 7, 10]
     from generate_series(1, $2::int) m, generate_series(1, $3::int) n`,
    [project.projectId, minutes, perMinute],
  );
  const before = await project.get('/timeseries');
  expect(before.totals).toMatchObject({ attempts: 2 * minutes * perMinute, delivered: minutes * perMinute });
  const { signal } = new AbortController();
  const seen = await Promise.all([
    ...[1, 2, 3].map(() => addUpCounts(app.app.db, signal)),
    ...[1, 2, 3].map(() => totals(project)),
  ]);
  for (const one of seen.slice(3)) expect(one).toEqual(before.totals);
  expect(await project.get('/timeseries')).toEqual(before);
  // More of the same minutes and hour.
  await app.database.query(
    `insert into recent_counts (project_id, endpoint_id, minute, attempts, latencies)
     select $1, 'e1', date_trunc('minute', now()) - interval '2 minutes', 5, '{10,11}'`,
    [project.projectId],
  );
  await addUpCounts(app.app.db, signal);
  expect(await totals(project)).toMatchObject({ attempts: 2 * minutes * perMinute + 5 });
  const [stored] = await app.database.query(
    `select step, buckets, bucket_counts from traffic where project_id = $1 and subject_id = 'e1' and step = 60
     order by start limit 1`,
    [project.projectId],
  );
  expect(stored!['buckets']).toEqual([...(stored!['buckets'] as number[])].toSorted((a, b) => a - b));
  expect(new Set(stored!['buckets'] as number[]).size).toBe((stored!['bucket_counts'] as number[]).length);
});
