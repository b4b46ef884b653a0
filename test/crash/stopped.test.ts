import { expect, test } from 'vitest';
import { atLeast, eventually } from '../support/eventually.ts';
import { isAlive, Program } from '../support/program.ts';
import { setScene, subscribeReceiver } from './scene.ts';

/** In place of a status: the connection broke. */
const LOST = 0;

test.concurrent('a stop by SIGTERM or SIGINT ends everything with code 0, and the next start has all data', async (context) => {
  const scene = await setScene(context);
  const first = await scene.start();
  await subscribeReceiver(scene, first);
  const client = await scene.client(first);
  const event = await client.post('/events/broadcast', { event_type: 'load', data: { kept: true } });
  await scene.receiver.received(1);
  expect(await first.stop()).toEqual({ code: 0, signal: null });
  expect(isAlive(first.databases[0]!.pid)).toBe(false);

  const second = await scene.start();
  const after = await scene.client(second);
  expect((await after.get(`/events/${event.uid}`)).data).toEqual({ kept: true });
  const [delivery] = (await after.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  expect(delivery).toMatchObject({ status: 'Success', metadata: { num_trials: 1 } });
  second.signal('SIGINT');
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(isAlive(second.databases[0]!.pid)).toBe(false);
  expect(scene.receiver.requests).toHaveLength(1);
});

test.concurrent('a stop waits for the delivery in flight and records it', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start();
  await subscribeReceiver(scene, program);
  const client = await scene.client(program);
  let answer = () => {};
  scene.receiver.answerAlways((_request, response) => {
    answer = () => response.writeHead(200).end();
  });
  const event = await client.post('/events/broadcast', { event_type: 'load', data: {} });
  await scene.receiver.received(1);
  program.signal('SIGTERM');
  await eventually(async () => program.stderr, /"stopping"/);
  answer();
  expect((await program.ended).code).toBe(0);

  const again = await scene.client(await scene.start());
  const [delivery] = (await again.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  expect(delivery.status).toBe('Success');
  expect(scene.receiver.requests).toHaveLength(1);
});

test.concurrent('npm start stops the same way when its process group is signalled', async (context) => {
  const scene = await setScene(context);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const program = new Program({
      command: ['npm', 'start'],
      env: { POSTHORN_DATA_DIR: scene.dataDir, POSTHORN_PORT: '0' },
    });
    context.onTestFinished(() => program.end());
    await program.ready();
    program.signalGroup(signal);
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.stderr).toContain('"stopped"');
    expect(isAlive(program.databases[0]!.pid)).toBe(false);
  }
});

test.concurrent('npx posthorn serve stops cleanly if npx alone gets the signal', async (context) => {
  const scene = await setScene(context);
  const program = new Program({
    command: ['npx', 'posthorn', 'serve'],
    env: { POSTHORN_DATA_DIR: scene.dataDir, POSTHORN_PORT: '0' },
  });
  context.onTestFinished(() => program.end());
  await program.ready();
  program.signal('SIGTERM');
  // The exit code is that of npx, which does not wait. The output ends with the service.
  await program.ended;
  expect(program.stderr).toContain('"stopped"');
  expect(isAlive(program.databases[0]!.pid)).toBe(false);
});

test.concurrent('a database killed during a config change does not end the node', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start();
  await subscribeReceiver(scene, program);
  const client = await scene.client(program);
  const [endpoint] = (await client.get('/endpoints')).content;
  const statuses = new Map<number, number>();
  const enough = new AbortController();
  const writers = Array.from({ length: 8 }, async () => {
    while (!enough.signal.aborted && program.isRunning) {
      const put = client.raw('PUT', `/endpoints/${endpoint.uid}/pause`);
      const status = await put.then((response) => response.status).catch(() => LOST);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const written = (count: number) => eventually(async () => statuses.get(202) ?? 0, atLeast(count));
  await written(50);
  process.kill(program.databases[0]!.pid, 'SIGKILL');
  const atKill = statuses.get(202) ?? 0;
  await written(atKill + 50);
  enough.abort();
  await Promise.all(writers);
  expect([...statuses.keys()].filter((status) => ![202, 503].includes(status))).toEqual([]);
  expect(program.databases).toHaveLength(2);
});
