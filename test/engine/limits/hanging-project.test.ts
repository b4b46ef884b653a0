import { expect, onTestFinished, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { listenTcp } from '../../support/servers/loopback-server.ts';
import { Receiver } from '../../support/servers/receiver.ts';

/** All endpoints of one project hang; what the others' deliveries need must not be taken by them. */
const WINDOW = 40;
const HANGING = 60;
/** None of them times out while the test runs. */
const PATIENT = { http_timeout: 100 };

async function startHanging(env: Record<string, string> = {}) {
  const app = await startTestApp({ POSTHORN_WINDOW: String(WINDOW), ...env });
  onTestFinished(() => app.stop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  receiver.answerAlways(({ path }, response) => {
    if (path.startsWith('/ok')) response.end();
  });
  return { app, receiver };
}

test('a project whose endpoints all hang leaves places in the window to others', async () => {
  const { app, receiver } = await startHanging();
  const [hanging, other] = [await app.newProject(), await app.newProject()];
  for (let n = 0; n < HANGING; n += 10)
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        subscribe(hanging, `${receiver.url}/hang/${n + i}`, { endpoint: PATIENT }),
      ),
    );
  await subscribe(other, `${receiver.url}/ok`);
  await hanging.post('/events/broadcast', { event_type: 'a', data: {} });
  // All that the project may hold is under way, claimed rows included.
  const most = (WINDOW * 3) / 4;
  await eventually(async () => app.app.engine.usage().sending, atLeast(most));
  for (let n = 0; n < 20; n += 1) await other.post('/events/broadcast', { event_type: 'a', data: {} });
  expect(await receiver.received(20, '/ok')).toHaveLength(20);
  expect(receiver.requests.filter(({ path }) => path.startsWith('/hang')).length).toBe(most);
});

test('a project whose requests all hang leaves connections to others', async () => {
  const { app, receiver } = await startHanging({ POSTHORN_WINDOW: '2000' });
  const [hanging, other] = [await app.newProject(), await app.newProject()];
  // An endpoint that has not answered yet gets 32 requests at a time, so these keep 1,056 connections.
  const silent = await Promise.all(Array.from({ length: 33 }, () => listenTcp(() => {})));
  for (const { close } of silent) onTestFinished(close);
  for (const { port } of silent) await subscribe(hanging, `http://127.0.0.1:${port}/`, { endpoint: PATIENT });
  await subscribe(other, `${receiver.url}/ok`);
  await Promise.all(
    Array.from({ length: 33 }, () => hanging.post('/events/broadcast', { event_type: 'a', data: {} })),
  );
  await eventually(async () => app.app.engine.usage().sending, atLeast(33 * 32));
  await other.post('/events/broadcast', { event_type: 'a', data: {} });
  expect(await receiver.received(1, '/ok')).toHaveLength(1);
  // The outcome of the other delivery may still be on its way.
  expect(app.app.engine.usage().sending).toBeGreaterThanOrEqual(33 * 32);
});
