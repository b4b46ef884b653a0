import { expect, test } from 'vitest';
import { JobRunner } from '../../src/jobs/job-runner.ts';
import { JOBS_CHANNEL, NEW_JOB } from '../../src/store/database/notify-nodes.ts';
import type { JobType, JobWork } from '../../src/store/jobs/jobs.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { failedDeliveries } from '../support/samples/many-deliveries.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** The first node only serves the API; jobs run on nodes that come and go. */
const app = await shared(startTestApp({ POSTHORN_ROLES: 'api,deliver' }));
const receiver = await shared(Receiver.start());

const jobState = (job: Json, until: (state: Json) => boolean): Promise<Json> =>
  eventually(() => app.project.get(`/jobs/${job.uid}`), until);

const hasEnded = ({ status }: Json): boolean => status !== 'queued' && status !== 'running';

test('another node continues a batch retry of ten thousand deliveries and each is sent once', async () => {
  const { endpoint, subscription } = await subscribe(app.project, receiver.url);
  await failedDeliveries(app, { endpoint, subscription, count: 10_000 });
  const job = await app.project.post('/eventdeliveries/batchretry', undefined, 200);
  expect(job).toMatchObject({ status: 'queued', total: 10_000, done: 0 });
  expect(job.description).toBe('Each delivery is queued again; the delivery shows whether it was sent.');

  const first = await app.addNode({ POSTHORN_ROLES: 'janitor' });
  const underWay = await jobState(job, ({ done }) => done > 0);
  await first.stop();
  const stopped = await app.project.get(`/jobs/${job.uid}`);
  expect(underWay.done).toBeGreaterThan(0);
  const second = await app.addNode({ POSTHORN_ROLES: 'janitor' });
  const third = await app.addNode({ POSTHORN_ROLES: 'janitor' });
  const ended = await jobState(job, hasEnded);
  expect(stopped.done).toBeLessThanOrEqual(ended.done);
  expect(ended).toMatchObject({ status: 'completed', total: 10_000, done: 10_000, failed: 0 });

  await receiver.received(10_000);
  await eventually(
    () => app.database.query('select count(*)::int as open from delivery_queue'),
    [{ open: 0 }],
  );
  const states = await app.database.query(
    'select status, num_trials, count(*)::int from event_deliveries group by 1, 2',
  );
  expect(states).toEqual([{ status: 'Success', num_trials: 2, count: 10_000 }]);
  expect(new Set(receiver.requests.map((request) => request.headers['webhook-id'])).size).toBe(10_000);
  await Promise.all([second.stop(), third.stop()]);
});

test('an aborted chunk leaves nothing behind and the next node runs it', async () => {
  const { endpoint, subscription } = await subscribe(app.project, receiver.url);
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  const ids = await failedDeliveries(app, { endpoint, subscription, count: 600 });
  // Another session has locked a row of the second chunk. The chunk waits for it until its connection is cut.
  await app.database.query('begin');
  await app.database.query('select from event_deliveries where id = $1 for update', [ids.at(-1)]);
  const job = await app.project.post(
    `/eventdeliveries/batchretry?endpointId=${endpoint.uid}`,
    undefined,
    200,
  );
  const node = await app.addNode({ POSTHORN_ROLES: 'janitor' });
  await jobState(job, ({ done }) => done === 500);
  const working = () =>
    app.database.query(
      "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
  const [blocked] = await eventually(working, { length: atLeast(1) });
  await app.database.query('select pg_terminate_backend($1)', [blocked?.['pid']]);
  expect(await app.project.get(`/jobs/${job.uid}`)).toMatchObject({ status: 'running', done: 500 });
  await app.database.query('commit');
  expect(await jobState(job, hasEnded)).toMatchObject({ status: 'completed', done: 600, failed: 0 });
  const [open] = await app.database.query(
    'select count(*)::int as count from delivery_queue where key = $1',
    [endpoint.uid],
  );
  expect(open).toEqual({ count: 600 });
  await node.stop();
});

test('a new job is notified to the nodes that run jobs, with its commit', async () => {
  const listener = await app.database.open().dedicated();
  const notified: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => notified.push(payload));
  await listener.query(`listen ${JOBS_CHANNEL}`);
  const job = await app.project.post('/eventdeliveries/cancel?endpointId=none', undefined, 200);
  await eventually(async () => notified, { length: atLeast(1) });
  expect(notified).toEqual([NEW_JOB]);
  await listener.end();
  await app.project.put(`/jobs/${job.uid}/cancel`);
});

test('a job that was cancelled does nothing more, and cannot be cancelled twice', async () => {
  const { endpoint, subscription } = await subscribe(app.project, receiver.url);
  await failedDeliveries(app, { endpoint, subscription, count: 10 });
  const filter = `/eventdeliveries/batchretry?endpointId=${endpoint.uid}`;
  const cancelled = await app.project.post(filter, undefined, 200);
  expect(await app.project.put(`/jobs/${cancelled.uid}/cancel`)).toMatchObject({
    status: 'cancelled',
    done: 0,
  });
  expect((await app.project.put(`/jobs/${cancelled.uid}/cancel`, undefined, 400)).code).toBe('wrong_state');
  await app.project.put('/jobs/nothing/cancel', undefined, 404);
  const later = await app.project.post(`${filter}&startDate=2099-01-01T00:00:00`, undefined, 200);
  const node = await app.addNode({ POSTHORN_ROLES: 'janitor' });
  expect(await jobState(later, hasEnded)).toMatchObject({ status: 'completed', total: 0, done: 0 });
  expect(await app.project.get(`/jobs/${cancelled.uid}`)).toMatchObject({ status: 'cancelled', done: 0 });
  const { content } = await app.project.get(`/eventdeliveries?endpointId=${endpoint.uid}&status=Failure`);
  expect(content).toHaveLength(10);
  await node.stop();
});

test('a job names its endpoint and customer, where its filter leaves only one', async () => {
  const project = await app.newProject();
  const add = async (name: string, owner_id: string) =>
    (await project.post('/endpoints', { name, owner_id, url: receiver.url })).uid;
  const ids = [await add('one', 'acme'), await add('two', 'acme'), await add('three', 'globex')];
  const cancel = (query: string) => project.post(`/eventdeliveries/cancel?${query}`, undefined, 200);
  const of = (...some: string[]) => some.map((id) => `endpointId=${id}`).join('&');
  const noTarget = { endpoint_id: '', endpoint_name: '', owner_id: '' };
  const first = { endpoint_id: ids[0], endpoint_name: 'one', owner_id: 'acme' };
  const job = await cancel(of(ids[0]));
  expect(job).toMatchObject(first);
  expect(await project.get(`/jobs/${job.uid}`)).toMatchObject(first);
  expect(await cancel(of(ids[0], ids[1]))).toMatchObject({ ...noTarget, owner_id: 'acme' });
  expect(await cancel('ownerId=acme')).toMatchObject({ ...noTarget, owner_id: 'acme' });
  expect(await cancel(of(ids[0], ids[2]))).toMatchObject(noTarget);
  expect(await cancel('')).toMatchObject(noTarget);
  expect((await project.get('/jobs')).content).toMatchObject([noTarget, noTarget, {}, {}, first]);
});

test('a job that cannot run ends as failed with the reason and delays no other', async () => {
  await app.database.query(
    "insert into jobs (id, project_id, type, status, input, actor_type) values ('01ZZZZZZZZZZZZZZZZZZZZZZZZ', $1, 'onboard', 'queued', '', 'instance')",
    [app.projectId],
  );
  const job = await app.project.post('/eventdeliveries/cancel', undefined, 200);
  await app.addNode({ POSTHORN_ROLES: 'janitor' });
  const failed = await jobState({ uid: '01ZZZZZZZZZZZZZZZZZZZZZZZZ' }, hasEnded);
  expect(failed).toMatchObject({ status: 'failed', error: expect.stringContaining('internal error') });
  expect(await jobState(job, hasEnded)).toMatchObject({ status: 'completed' });
});

test('a job whose project begins to move waits, and those of other projects go on', async () => {
  const [moving, other] = [await app.newProject(), await app.newProject()];
  const state = (to: string | null) =>
    app.database.query('update projects set cell_state = $2 where id = $1', [moving.projectId, to]);
  const end = { cursor: null, done: 1, failed: 0 };
  const work = async ({ project_id }: { project_id: string }) => {
    if (project_id === moving.projectId && runs++ === 0) await state('draining');
    return async () => end;
  };
  let runs = 0;
  const jobs = ['a', 'b'].map((id, n) => ({ id, project: [moving, other][n]?.projectId }));
  for (const { id, project } of jobs)
    await app.database.query(
      `insert into jobs (id, project_id, type, status, input, actor_type) values ($1, $2, 'batch_cancel', 'queued', '{}', 'instance')`,
      [id, project],
    );
  const { log, lines } = linesOf('warn');
  const works = { batch_cancel: work } as unknown as Record<JobType, JobWork>;
  const runner = new JobRunner({ db: app.app.db, works, log });
  runner.start();
  const states = async () =>
    (await app.database.query("select status from jobs where id in ('a', 'b') order by id")).map(
      ({ status }) => status,
    );
  await eventually(states, ([, status]) => status === 'completed');
  expect(await states()).toEqual(['queued', 'completed']);
  await state(null);
  await eventually(
    async () => {
      runner.wake();
      return states();
    },
    ([status]) => status !== 'queued',
  );
  expect(await states()).toEqual(['completed', 'completed']);
  expect(lines()).toEqual([]);
  await runner.stop();
});
