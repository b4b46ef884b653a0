import { expect, test, vi } from 'vitest';
import { idTime } from '../../src/domain/ids.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

/** Sockets, timers and child processes of this process, by kind. */
const resources = () => process.getActiveResourcesInfo().toSorted();

test('nodes that start and stop many times under load leave nothing behind and lose nothing', async () => {
  await subscribe(app.project, receiver.url);
  const accepted: string[] = [];
  const send = async (url: string) => {
    const { key, projectId } = app.project;
    const response = await fetch(`${url}/api/v1/projects/${projectId}/events/broadcast`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ event_type: 'a', data: { n: accepted.length } }),
    }).catch(() => null);
    if (response?.status === 201)
      accepted.push(((await response.json()) as { data: { uid: string } }).data.uid);
  };
  const round = async () => {
    // A connection that stays open would keep the stop waiting for half of this, past the time limit of the test.
    const grace = { POSTHORN_GRACE: '3600' };
    const nodes = await Promise.all([app.addNode(grace), app.addNode(grace)]);
    const sends = nodes.flatMap(({ url }) => Array.from({ length: 10 }, () => send(url)));
    await sends[0];
    // The others are under way.
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all(sends);
  };
  const connections = () =>
    app.database.query('select from pg_stat_activity where datname = current_database()');
  await round();
  const [before, open] = [resources().length, (await connections()).length];
  for (let n = 0; n < 4; n += 1) await round();
  await eventually(connections, ({ length }) => length <= open);
  await eventually(
    async () => resources(),
    ({ length }) => length <= before,
  );
  expect(accepted.length).toBeGreaterThanOrEqual(5);
  const statusOf = async (uid: string) =>
    (await app.project.get(`/eventdeliveries?eventId=${uid}`)).content[0]?.status;
  for (const uid of accepted) await eventually(() => statusOf(uid), 'Success');
});

test('a node that cannot listen stops what it had started', async () => {
  const { port } = new URL(app.url);
  const known = async () => (await app.instance.get('/nodes')).length ?? 0;
  const connections = () =>
    app.database.query('select from pg_stat_activity where datname = current_database()');
  const [nodes, open] = [await known(), (await connections()).length];
  await expect(app.addNode({ POSTHORN_PORT: port })).rejects.toThrow(/in use|EADDRINUSE/);
  await eventually(connections, ({ length }) => length <= open);
  expect(await known()).toBe(nodes);
});

test('a clock of a node that is set dates nothing in the future, and nothing is refused', async () => {
  const realNow = Date.now.bind(Date);
  const uids: string[] = [];
  const send = async () => {
    const { uid } = await app.project.post('/events/broadcast', { event_type: 'a', data: {} });
    uids.push(uid);
    expect(idTime(uid) - realNow()).toBeLessThan(1_000);
  };
  await send();
  const spy = vi.spyOn(Date, 'now');
  try {
    for (const hours of [1, 720, -1, 0]) {
      spy.mockImplementation(() => realNow() + hours * 3_600_000);
      for (let n = 0; n < 5; n += 1) await send();
      const endpoint = await app.project.post('/endpoints', { name: `after ${hours}`, url: receiver.url });
      expect(idTime(endpoint.uid) - realNow()).toBeLessThan(1_000);
    }
  } finally {
    spy.mockRestore();
  }
  await send();
  expect(uids.toSorted()).toEqual(uids);
  expect(realNow() - idTime(uids.at(-1) ?? '')).toBeLessThan(60_000);
});

// The last one: the clock of the shared node jumps with that of its process.
test('a node whose clock is an hour ahead gives ids in the time of the database, and its jobs run', async () => {
  const realNow = Date.now.bind(Date);
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 3_600_000);
  const fast = await startTestApp();
  try {
    await subscribe(fast.project, receiver.url);
    const event = await fast.project.post('/events/broadcast', { event_type: 'a', data: {} });
    expect(idTime(event.uid)).toBeLessThan(realNow() + 60_000);
    const response = await fast.project.raw('POST', '/events/batchreplay');
    const { job } = (await response.json()) as { job: { uid: string } };
    const ended = await eventually(() => fast.project.get(`/jobs/${job.uid}`), { status: 'completed' });
    expect(ended.done).toBe(1);
  } finally {
    await fast.stop();
    spy.mockRestore();
  }
});
