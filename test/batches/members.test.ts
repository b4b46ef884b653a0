import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { atLeast, eventually, every } from '../support/eventually.ts';
import type { Received } from '../support/servers/receiver.ts';
import { endedJob } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { numbers, scene } from './scene.ts';

/** Deliveries that wait for a batch or are in one: each can end, wait and be resent by itself. */
const app = await shared(startTestApp());

const LATE = { max_wait_seconds: 300 };
const SOON = { type: 'linear', interval_seconds: 1, retry_count: 5 };
const idOf = ({ headers }: Received) => headers['webhook-id'];

test('a delivery that is cancelled in a batch leaves it, and the others go on in a batch with another id', async () => {
  const { client, receiver, send, deliveries, ended } = await scene(
    app,
    { max: 3, ...LATE },
    { subscription: { retry_config: SOON } },
  );
  receiver.answerAlways(503);
  await send(3);
  await receiver.received(1);
  const all = await deliveries();
  await endedJob(
    client,
    await client.post(`/eventdeliveries/cancel?eventId=${all[1]?.event_id}`, undefined, 200),
  );
  const before = receiver.requests.length;
  await eventually(
    () => receiver.requests.slice(before).filter(({ json }) => json.length === 2).length,
    atLeast(1),
  );
  receiver.answerAlways(200);
  const done = await ended(3);
  expect(done.map(({ status }) => status)).toEqual(['Success', 'Discarded', 'Success']);
  const small = receiver.requests.filter(({ json }) => json.length === 2);
  expect(small.map(numbers)).toEqual(small.map(() => [1, 3]));
  const large = receiver.requests.filter(({ json }) => json.length === 3);
  expect(new Set(small.map(idOf)).size).toBe(1);
  expect(idOf(small[0] as Received)).not.toBe(idOf(large[0] as Received));
});

test('a delivery that expires in a batch is discarded, and the others go on', async () => {
  const { receiver, send, ended } = await scene(
    app,
    { max: 3, ...LATE },
    { subscription: { retry_config: SOON } },
  );
  receiver.answerAlways(503);
  await send(1, { event: { ttl_seconds: 2 } });
  await send(2, { from: 2 });
  await eventually(() => receiver.requests.at(-1)?.json.length, 2);
  receiver.answerAlways(200);
  const done = await ended(3);
  expect(done.map(({ status }) => status)).toEqual(['Discarded', 'Success', 'Success']);
  expect(done[0]?.description).toContain('Expired at');
});

test('deliveries that are cancelled or expire before their batch is made are in none', async () => {
  const { client, receiver, send, deliveries, ended } = await scene(app, { max: 3, ...LATE });
  await send(1, { event: { ttl_seconds: 1 } });
  await send(1, { from: 2 });
  const [, second] = await deliveries();
  await endedJob(
    client,
    await client.post(`/eventdeliveries/cancel?eventId=${second?.event_id}`, undefined, 200),
  );
  await eventually(deliveries, every({ status: 'Discarded' }));
  await send(3, { from: 3 });
  await ended(5);
  expect(receiver.requests.map(numbers)).toEqual([[3, 4, 5]]);
});

test('a function runs for each delivery before the first request, and ends those that it fails for', async () => {
  const code = `let runs = 0;
    function transform(p) { if (p.n === 2) throw new Error('no'); return { n: p.n, at: Math.random() }; }`;
  const { receiver, send, ended } = await scene(
    app,
    { max: 3, ...LATE },
    { subscription: { function: code, retry_config: SOON } },
  );
  receiver.answerNext(503);
  await send(3);
  const done = await ended(3);
  expect(done.map(({ status }) => status)).toEqual(['Success', 'Failure', 'Success']);
  const [first, second] = receiver.requests as [Received, Received];
  expect(numbers(first)).toEqual([1, 3]);
  expect(second.body).toEqual(first.body);
  expect(idOf(second)).toBe(idOf(first));
});

test('a paused endpoint gets none, and its deliveries fill their batches meanwhile', async () => {
  const { client, receiver, endpoint, send, deliveries, ended } = await scene(app, {
    max: 4,
    max_wait_seconds: 1,
  });
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await send(3);
  await eventually(deliveries, (all) => all.every(({ waiting_for }) => waiting_for.gate === 'paused'));
  const formed = () =>
    app.database.query('select from delivery_queue where project_id = $1 and kind = 2', [client.projectId]);
  await send(1, { from: 4 });
  expect(await formed()).toEqual([]);
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await ended(4);
  expect(receiver.requests.map(numbers)).toEqual([[1, 2, 3, 4]]);
});

test('a batch has one delivery mode, so at most once ends none that is to be sent again', async () => {
  const { client, receiver, endpoint, subscription, send, ended } = await scene(
    app,
    { max: 2, max_wait_seconds: 1 },
    { subscription: { retry_config: SOON } },
  );
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await send(1);
  await client.put(`/subscriptions/${subscription.uid}`, { delivery_mode: 'at_most_once' });
  await send(1, { from: 2 });
  const tried = new Set<unknown>();
  receiver.answerAlways((request, response) => {
    response.writeHead(tried.has(idOf(request)) ? 200 : 503).end();
    tried.add(idOf(request));
  });
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  const done = await ended(2);
  expect(done.map(({ status }) => status)).toEqual(['Success', 'Failure']);
  expect(receiver.requests.map(numbers).toSorted((a, b) => Number(a[0]) - Number(b[0]))).toEqual([
    [1],
    [1],
    [2],
  ]);
});

test('a resent delivery is in a batch again', async () => {
  const { client, receiver, send, ended } = await scene(app, { max: 2, max_wait_seconds: 1 });
  await send(2);
  const [first] = await ended(2);
  await client.post('/eventdeliveries/forceresend', { ids: [first?.uid] }, 200);
  const requests = await receiver.received(2);
  expect(numbers(requests[1] as Received)).toEqual([1]);
  const [again] = await ended(2);
  expect(again).toMatchObject({ uid: first?.uid, status: 'Success' });
});

test('without batches any more, deliveries that wait go one by one, and batches that are made stay so', async () => {
  const { client, receiver, subscription, send, ended } = await scene(
    app,
    { max: 2, ...LATE },
    { subscription: { retry_config: SOON } },
  );
  receiver.answerAlways(503);
  await send(3);
  await receiver.received(1);
  await client.put(`/subscriptions/${subscription.uid}`, { batch: {} });
  receiver.answerAlways(200);
  await ended(3);
  const good = receiver.requests.filter(({ json }) => !Array.isArray(json));
  // Calls at the same time are stored in any order.
  expect(good).toHaveLength(1);
  const batches = receiver.requests.filter(({ json }) => Array.isArray(json));
  expect(new Set(batches.map(idOf)).size).toBe(1);
  expect(batches.at(-1)?.json).toHaveLength(2);
});

test('deliveries of a subscription that is deleted wait with its endpoint while that is paused, in a batch or not', async () => {
  const { client, receiver, endpoint, subscription, send, deliveries, ended } = await scene(
    app,
    { max: 2, ...LATE },
    { subscription: { retry_config: { ...SOON, retry_count: 50 } } },
  );
  receiver.answerAlways(503);
  await send(3);
  await eventually(deliveries, (all) => all.filter(({ status }) => status === 'Retry').length === 2);
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await client.delete(`/subscriptions/${subscription.uid}`);
  const rows = () =>
    app.database.query(
      `select distinct key, max(fence) over () > 50 as is_claimed_again_and_again from delivery_queue where project_id = $1`,
      [client.projectId],
    );
  const moved = await eventually(
    rows,
    ([row, ...others]) =>
      (others.length === 0 && row?.key !== subscription.uid) || row?.is_claimed_again_and_again === true,
  );
  expect(moved).toEqual([{ key: endpoint.uid, is_claimed_again_and_again: false }]);
  receiver.answerAlways(200);
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await ended(3);
  const [batches, singles] = [true, false].map((isBatch) =>
    receiver.requests.filter(({ json }) => Array.isArray(json) === isBatch),
  ) as [Received[], Received[]];
  expect(batches.at(-1)?.json).toHaveLength(2);
  expect(new Set(batches.map(idOf)).size).toBe(1);
  expect(singles).toHaveLength(1);
});

test.each([
  ['under the key of its endpoint', {}],
  ['under a key of its own', { rate_limit_config: { count: 100, duration: 1 } }],
])('batches of an endpoint that becomes a pull endpoint are taken apart, %s', async (_name, limited) => {
  const { client, endpoint, receiver, send, deliveries } = await scene(
    app,
    { max: 2, ...LATE },
    { subscription: { retry_config: SOON, ...limited } },
  );
  receiver.answerAlways(503);
  await send(3);
  await receiver.received(1);
  await client.put(`/endpoints/${endpoint.uid}`, { delivery: 'pull', url: '' });
  await eventually(deliveries, (all) => all.every(({ waiting_for }) => waiting_for?.gate === 'pull'));
  const taken: unknown[] = [];
  await eventually(async () => {
    const some = await client.post(`/endpoints/${endpoint.uid}/pull`, { max: 10, lease_seconds: 60 }, 200);
    return taken.push(...some.deliveries);
  }, 3);
});
