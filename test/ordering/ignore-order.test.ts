import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { completedJob, deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { type HeldScene, heldScene } from './held-scene.ts';

/** With order=ignore a delivery is sent again without regard to its key, which stays held. */
const app = await shared(startTestApp());

const count = ({ seen }: HeldScene, many: number) =>
  eventually(async () => seen('a'), { length: atLeast(many) });

/** 1 was delivered, 2 failed and holds the key, 3 waits. */
async function held(): Promise<{ scene: HeldScene; ids: string[]; events: string[] }> {
  const scene = await heldScene(app);
  scene.refused.add(2);
  const events = [];
  for (let n = 1; n <= 3; n++) events.push(await scene.send('a', n));
  await scene.held(1);
  const ids = [];
  for (const [n, event] of events.entries())
    ids.push((await deliveryOf(scene.client, event, ['Success', 'Failure', 'Scheduled'][n])).uid);
  return { scene, ids, events: events.map(({ uid }) => uid) };
}

test('a resend, a forced resend and a replay pass a held key, and it stays held', async () => {
  const { scene, ids, events } = await held();
  const { client, seen, refused } = scene;
  await client.put(`/eventdeliveries/${ids[1]}/resend?order=ignore`, undefined, 200);
  await count(scene, 3);
  await deliveryOf(client, { uid: events[1] }, 'Failure');
  refused.clear();
  await client.put(`/eventdeliveries/${ids[1]}/resend?order=ignore`, undefined, 200);
  await deliveryOf(client, { uid: events[1] });
  await client.post('/eventdeliveries/forceresend', { ids: [ids[0]], order: 'ignore' }, 200);
  await count(scene, 5);
  await client.put(`/events/${events[0]}/replay?order=ignore`, undefined, 200);
  await count(scene, 6);
  expect(seen('a')).toEqual([1, 2, 2, 2, 1, 1]);
  const [key] = await scene.held(1);
  expect(key).toMatchObject({ head_id: ids[1], waiting: 1 });
  await client.post('/ordering-keys/skip', { ids: [key?.uid] }, 200);
  await scene.drained();
  expect(seen('a').at(-1)).toBe(3);
});

test('so do a batch retry and a batch replay', async () => {
  const { scene, ids, events } = await held();
  const { client, refused, seen } = scene;
  refused.clear();
  await completedJob(
    client,
    await client.post('/eventdeliveries/batchretry?order=ignore&status=Failure', undefined, 200),
  );
  await deliveryOf(client, { uid: events[1] });
  await client.post('/events/batchreplay?order=ignore', undefined, 200);
  await count(scene, 6);
  expect(seen('a').slice(0, 3)).toEqual([1, 2, 2]);
  expect(
    seen('a')
      .slice(3)
      .toSorted((a, b) => a - b),
  ).toEqual([1, 2, 3]);
  expect(await scene.held(1)).toMatchObject([{ head_id: ids[1], waiting: 1 }]);
});

test('another order is refused, and nothing is sent', async () => {
  const { scene, ids, events } = await held();
  const { client, seen } = scene;
  await client.put(`/eventdeliveries/${ids[1]}/resend?order=keep`, undefined, 400);
  await client.put(`/events/${events[0]}/replay?order=keep`, undefined, 400);
  await client.post('/eventdeliveries/batchretry?order=keep', undefined, 400);
  await client.post('/events/batchreplay?order=keep', undefined, 400);
  await client.post('/eventdeliveries/forceresend', { ids: [ids[0]], order: 'keep' }, 400);
  expect((await client.get('/jobs')).content).toEqual([]);
  expect((await client.get('/eventdeliveries')).content).toHaveLength(3);
  expect(seen('a')).toEqual([1, 2]);
  expect((await deliveryOf(client, { uid: events[1] }, 'Failure')).uid).toBe(ids[1]);
});
