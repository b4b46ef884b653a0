import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** The retries and the timeout of new projects, of projects made before, and of those that ask for Convoy's. */
const app = await shared(startTestApp({ POSTHORN_DEFAULTS: 'standard' }));
const STANDARD = {
  strategy: {
    type: 'exponential',
    duration: 5,
    retry_count: 10,
    schedule: ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'],
  },
  http_timeout: 20,
  disable_after: '120h',
};
const CONVOY = {
  strategy: { type: 'linear', duration: 100, retry_count: 10, schedule: [] },
  http_timeout: 10,
  disable_after: '',
};

/** A project made by another node of the same database. */
async function madeBy(env: Record<string, string>): Promise<Json> {
  const node = await app.addNode(env);
  const instance = new ApiClient(`${node.url}/api/v1`, app.instance.key);
  const { project } = await instance.post('/projects', { name: JSON.stringify(env), type: 'outgoing' });
  return project.config;
}

/** The waits that were planned after the first failures, in seconds. Each is sent now before its time. */
async function plannedWaits(project: ApiClient, tries: number, subscription: object = {}): Promise<number[]> {
  const receiver = await Receiver.start();
  receiver.answerAlways(500);
  await subscribe(project, receiver.url, { subscription });
  const event = await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const waits: number[] = [];
  for (let tried = 1; tried <= tries; tried++) {
    const [row] = await eventually(
      () =>
        app.database.query(
          `select num_trials, extract(epoch from next_send_at - updated_at)::float8 as wait
           from event_deliveries where event_id = $1`,
          [event.uid],
        ),
      [{ num_trials: tried }],
    );
    waits.push(Number(row?.['wait']));
    if (tried < tries) await project.post('/eventdeliveries/sendnow', undefined, 200);
  }
  await receiver.stop();
  return waits;
}

const about = (expected: readonly number[]) => (waits: readonly number[]) =>
  expected.every((wait, n) => (waits[n] ?? 0) >= wait && (waits[n] ?? 0) <= wait * 1.2);

test('a new project, also the first, is tried ten times over three days, with a timeout of 20 s', async () => {
  expect((await app.project.get('')).config).toMatchObject(STANDARD);
  const project = await app.newProject();
  expect((await project.get('')).config).toMatchObject(STANDARD);
  expect(await plannedWaits(project, 3)).toSatisfy(about([5, 300, 1_800]));
  const [delivery] = (await project.get('/eventdeliveries')).content;
  expect(delivery.metadata).toMatchObject({
    strategy: 'exponential',
    interval_seconds: 5,
    retry_limit: 10,
    num_trials: 3,
  });
});

// differs Sending: A new project retries over three days and has a timeout of 20 s. A call that names a part of
//   `strategy` gets the rest of Convoy's; `POSTHORN_DEFAULTS=convoy` has them, and 10 s, everywhere. As Standard
//   Webhooks recommends.
test('a call that names a part of Convoy’s retries gets the rest of them too', async () => {
  const retried = async (strategy: object) =>
    (await (await app.newProject({ strategy })).get('')).config.strategy;
  expect(await retried({ retry_count: 3 })).toEqual({ ...CONVOY.strategy, retry_count: 3 });
  expect(await retried(CONVOY.strategy)).toEqual(CONVOY.strategy);
  expect(await retried({})).toEqual(STANDARD.strategy);
  const project = await app.newProject();
  expect(await plannedWaits(project, 2, { retry_config: { interval_seconds: 7 } })).toSatisfy(about([7, 7]));
  const [{ retry_config }] = (await project.get('/subscriptions')).content;
  expect(retry_config).toEqual({ type: 'linear', duration: 7, retry_count: 9 });
});

// proves Instance: POSTHORN_DEFAULTS
test('with POSTHORN_DEFAULTS=convoy a new project has the defaults of Convoy', async () => {
  expect(await madeBy({ POSTHORN_DEFAULTS: 'convoy' })).toMatchObject(CONVOY);
});

test('where the retention is shorter, a new project has the steps that end within it', async () => {
  expect((await madeBy({ POSTHORN_RETENTION_HOURS: '24' })).strategy).toEqual({
    ...STANDARD.strategy,
    retry_count: 7,
    schedule: STANDARD.strategy.schedule.slice(0, 6),
  });
});

test('a project that was made before keeps its 10 tries, 100 s and 10 s', async () => {
  const project = await app.newProject(CONVOY);
  await app.database.query(
    `update projects set config = config - 'http_timeout' - 'disable_after' #- '{strategy,schedule}' where id = $1`,
    [project.projectId],
  );
  await project.put('', { config: { search_policy: '1h' } });
  expect((await project.get('')).config).toMatchObject(CONVOY);
  expect(await plannedWaits(project, 2)).toSatisfy(about([100, 100]));
  await app.database.query(`update projects set config = config - 'http_timeout' where id = $1`, [
    project.projectId,
  ]);
  const changed = await project.put('', { config: { http_timeout: 15 } });
  expect(changed.config.http_timeout).toBe(15);
});

// proves Projects: http_timeout
test('the timeout of the project applies to endpoints without one of their own', async () => {
  const receiver = await Receiver.start();
  receiver.answerAlways(() => {});
  const config = { http_timeout: 1, strategy: { retry_count: 1 } };
  const project = await app.newProject(config);
  await subscribe(project, receiver.url);
  await subscribe(project, receiver.url, { endpoint: { http_timeout: 2 } });
  const event = await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const { content } = await eventually(() => project.get(`/eventdeliveries?eventId=${event.uid}`), {
    content: every({ status: 'Failure' }),
  });
  const reasons = content.map(({ description }: Json) => /within \d+ ms/.exec(description)?.[0]);
  expect(reasons.sort()).toEqual(['within 1000 ms', 'within 2000 ms']);
  await receiver.stop();
  for (const http_timeout of [0, 121, 1.5])
    expect((await project.put('', { config: { http_timeout } }, 400)).message).toContain(
      'config.http_timeout',
    );
  await deliveryOf(project, event, 'Failure');
});
