import { expect, test } from 'vitest';
import type { App } from '../../../src/start/app.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** Counts over time, of a project, its endpoints and its sources. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
receiver.answerAlways(({ path }, response) => void response.writeHead(path === '/broken' ? 500 : 200).end());

const totals = async (client: ApiClient, query = '') => (await client.get(`/timeseries?${query}`)).totals;

test('accepted, delivered and failed are counted for project, endpoint and source, and stored at a stop', async () => {
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
  await onNode.post('/events/broadcast', { event_type: 'nobody', data: {} });
  await eventually(
    () => project.get('/eventdeliveries/statustotals'),
    (seen) => seen.Success === 3 && seen.Failure === 1,
  );
  // The other node may have claimed some, if this one had no place. Both have stored their counts then.
  await node.stop();
  const whole = await eventually(
    () => totals(project),
    (seen) => seen.delivered === 3 && seen.failed === 1 && seen.accepted === 5,
  );
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
  const portalOf = async (link: object) => {
    const { token } = await project.post('/portal-links', { name: 'link', owner_id: 'acme', ...link });
    return new ApiClient(`${app.url}/portal-api`, token);
  };
  const portal = await portalOf({});
  expect(await totals(portal)).toMatchObject({ accepted: 3, delivered: 3, failed: 0 });
  expect(await totals(portal, `endpointId=${bad.endpoint.uid}`)).toMatchObject({ accepted: 0, failed: 0 });
  expect(await totals(portal, `sourceId=${source.uid}`)).toMatchObject({ accepted: 0 });
  const narrow = await portalOf({ event_types: ['good'] });
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
    attempts: 0,
    failed_attempts: 0,
    latency: null,
  });
  expect((await quiet.get('/timeseries')).points).toHaveLength(61);
  const long = await quiet.get('/timeseries?startDate=2026-01-01T00:00:00&endDate=2026-03-01T00:00:00');
  expect([long.step, long.points.length]).toEqual(['day', 60]);
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

test('counts are sums over nodes, and a write that is repeated changes nothing', async () => {
  const project = await app.newProject();
  const row = (node: string, accepted: number) =>
    app.database.query(
      `insert into traffic values ($1, $1, 1, date_trunc('minute', now()) - interval '2 minutes', $2, $3, $3, 0, $3, 0, '{10}', array[$3::int])`,
      [project.projectId, node, accepted],
    );
  await row('a', 2);
  await row('b', 5);
  const series = await project.get('/timeseries');
  expect(series.points.at(-3)).toMatchObject({ accepted: 7, delivered: 7 });
  expect(series.points.at(-3).latency.p50).toBeGreaterThan(22);
  expect(series.totals.accepted).toBe(7);
});
