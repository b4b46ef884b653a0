import { expect, test } from 'vitest';
import { resultOf } from '../pull/consumer.ts';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { endedJob } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { numbers, type Scene, scene } from './scene.ts';

/** Deliveries of ordering keys in batches: many of a key in one, and never one before another of its key. */
const app = await shared(startTestApp());

const SOON = { type: 'linear', interval_seconds: 1, retry_count: 5 };
const LATER = { type: 'linear', interval_seconds: 600, retry_count: 5 };
const ORDERING = { key: '$.body.account' };

interface Data {
  n: number;
  account: string;
}

const sendAll = async ({ client }: Scene, data: readonly Data[]) => {
  const events = data.map((each) => ({ kind: 'broadcast', event_type: 'order.paid', data: each }));
  await client.post('/events/batch', { events }, 200);
};

/** The numbers from 1 to `count` for each account. */
const each = (count: number, accounts: readonly string[]): Data[] =>
  Array.from({ length: count }, (_, n) => accounts.map((account) => ({ n: n + 1, account }))).flat();

const dataOf = ({ json }: { json: { data: Data }[] }) => json.map(({ data }) => data);
const ofAccount = (data: readonly Data[], account: string) =>
  data.filter((one) => one.account === account).map(({ n }) => n);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

/** No place in a key is left. */
const nothingWaits = async ({ client }: Scene) => {
  const rows = await app.database.query(
    `select delivery_id from ordered_deliveries where project_id = $1
     union all select delivery_id from delivery_queue where project_id = $1
     union all select head_id from ordering_keys where project_id = $1 and head_id is not null`,
    [client.projectId],
  );
  expect(rows).toEqual([]);
};

test('a batch has many deliveries of a key, in order, and the next one goes on after them', async () => {
  const at = await scene(
    app,
    { max: 40, max_wait_seconds: 1 },
    { subscription: { ordering: ORDERING, retry_config: SOON } },
  );
  at.receiver.answerNext(503);
  await sendAll(at, each(50, ['a', 'b']));
  await at.ended(100);
  const [failed, ...good] = at.receiver.requests.map(dataOf);
  expect(failed).toHaveLength(40);
  expect(good[0]).toEqual(failed);
  for (const account of ['a', 'b']) expect(ofAccount(good.flat(), account)).toEqual(upTo(50));
  // Both keys have their share of each.
  expect(ofAccount(failed ?? [], 'a')).toEqual(upTo(20));
  expect(good.length).toBeLessThanOrEqual(4);
  await nothingWaits(at);
  // Replays take their places when their batch is made.
  await at.client.post('/events/batchreplay', undefined, 200);
  await at.ended(200);
  await nothingWaits(at);
});

test('enough deliveries do not wait, also behind others of their key, and neither do the next', async () => {
  const subscription = { ordering: ORDERING };
  const one = await scene(app, { max: 10, max_wait_seconds: 300 }, { subscription });
  await sendAll(one, each(30, ['a']));
  await one.ended(30);
  expect(one.receiver.requests.map(numbers)).toEqual([upTo(10), upTo(20).slice(10), upTo(30).slice(20)]);

  // One key has nearly all of them.
  const uneven = await scene(app, { max: 10, max_wait_seconds: 300 }, { subscription });
  await sendAll(uneven, [...each(1, ['b', 'c', 'd', 'e', 'f']), ...each(25, ['a'])]);
  await uneven.ended(30);
  expect(uneven.receiver.requests).toHaveLength(3);

  const bytes = await scene(app, { max: 1_000, max_bytes: 2_000, max_wait_seconds: 300 }, { subscription });
  await sendAll(
    bytes,
    each(12, ['a']).map((data) => ({ ...data, text: 'x'.repeat(480) })),
  );
  // The last three have fewer bytes.
  expect((await bytes.receiver.received(3)).map(numbers)).toEqual([
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ]);
});

test('of more keys than a batch takes, several batches are sent at a time, and each key keeps its order', async () => {
  const accounts = Array.from({ length: 20 }, (_, n) => `account ${n}`);
  const at = await scene(app, { max: 5, max_wait_seconds: 1 }, { subscription: { ordering: ORDERING } });
  await sendAll(at, each(4, accounts));
  await at.ended(80);
  const sent = at.receiver.requests.map(dataOf).flat();
  for (const account of accounts) expect(ofAccount(sent, account)).toEqual(upTo(4));
  await nothingWaits(at);
});

test('those behind a failure that is skipped fail with it, in as many requests as without an order', async () => {
  const at = await scene(
    app,
    { max: 30, max_wait_seconds: 1 },
    {
      subscription: {
        ordering: { ...ORDERING, on_failure: 'skip' },
        retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 },
      },
    },
  );
  at.receiver.answerAlways((_, response) => response.destroy());
  await sendAll(at, each(30, ['a']));
  const done = await at.ended(30);
  expect(done.every(({ status }) => status === 'Failure')).toBe(true);
  expect(at.receiver.requests.length).toBeLessThanOrEqual(2);
  await nothingWaits(at);
});

test('the halves of a batch that is too large keep the order of a key', async () => {
  const at = await scene(app, { max: 8, max_wait_seconds: 1 }, { subscription: { ordering: ORDERING } });
  at.receiver.answerAlways((request, response) =>
    response.writeHead(numbers(request).length > 3 ? 413 : 200).end(),
  );
  await sendAll(at, each(8, ['a', 'b']));
  const done = await at.ended(16);
  expect(done.every(({ status }) => status === 'Success')).toBe(true);
  const good = at.receiver.requests.map(dataOf).filter(({ length }) => length <= 3);
  for (const account of ['a', 'b']) expect(ofAccount(good.flat(), account)).toEqual(upTo(8));
  // It is not one by one.
  expect(good.length).toBeLessThan(16);
  await nothingWaits(at);
});

test('a delivery that fails for good holds its key, and those behind it and of other keys are not lost', async () => {
  const at = await scene(
    app,
    { max: 6, max_wait_seconds: 1 },
    { endpoint: { final_status_codes: [400] }, subscription: { ordering: ORDERING, retry_config: LATER } },
  );
  const isBad = (data: readonly Data[]) => data.some(({ n, account }) => n === 2 && account === 'a');
  at.receiver.answerAlways((request, response) =>
    response.writeHead(isBad(dataOf(request)) ? 400 : 200).end(),
  );
  await sendAll(at, each(3, ['a', 'b']));
  await eventually(
    () => at.deliveries().then((all) => all.map(({ status }) => status)),
    (all) => all.join() === 'Success,Success,Failure,Success,Scheduled,Success',
  );
  const all = await at.deliveries();
  expect(all[4]?.waiting_for.gate).toBe('order');
  const taken = at.receiver.requests.map(dataOf).filter((data) => !isBad(data));
  const before = at.receiver.requests.length;
  at.receiver.answerAlways(200);
  await at.client.put(`/eventdeliveries/${all[2]?.uid}/resend`, undefined, 200);
  await at.ended(6);
  taken.push(...at.receiver.requests.slice(before).map(dataOf));
  for (const account of ['a', 'b']) expect(ofAccount(taken.flat(), account)).toEqual([1, 2, 3]);
  await nothingWaits(at);
});

test('a function that fails for one behind the first of its key fails it in its turn', async () => {
  const code = `function transform(p) { if (p.n === 2) throw new Error('no'); return { n: p.n, account: p.account }; }`;
  const at = await scene(
    app,
    { max: 5, max_wait_seconds: 1 },
    { subscription: { ordering: ORDERING, function: code } },
  );
  await sendAll(at, each(4, ['a']));
  await eventually(
    () => at.deliveries().then((all) => all.map(({ status }) => status)),
    (all) => all.join() === 'Success,Failure,Scheduled,Scheduled',
  );
  expect(at.receiver.requests.map(numbers)).toEqual([[1]]);
  const [held] = (await at.client.get('/ordering-keys?held=true')).content;
  await at.client.post('/ordering-keys/skip', { ids: [held.uid] }, 200);
  await at.ended(4);
  expect(at.receiver.requests.map(numbers)).toEqual([[1], [3, 4]]);
  await nothingWaits(at);
});

const cancelled = async (n: number) => {
  const at = await scene(
    app,
    { max: 4, max_wait_seconds: 1 },
    { subscription: { ordering: ORDERING, retry_config: SOON } },
  );
  at.receiver.answerAlways(503);
  await sendAll(at, each(6, ['a']));
  await at.receiver.received(1);
  const all = await at.deliveries();
  // One that is being sent is not cancelled.
  await eventually(async () => {
    const path = `/eventdeliveries/cancel?eventId=${all[n - 1]?.event_id}`;
    await endedJob(at.client, await at.client.post(path, undefined, 200));
    return (await at.deliveries())[n - 1]?.status;
  }, 'Discarded');
  at.receiver.answerAlways(200);
  await at.ended(6);
  const [, ...later] = at.receiver.requests.map(numbers);
  const rest = upTo(6).filter((one) => one !== n);
  expect([...new Set(later.flat())].filter((one) => one !== n)).toEqual(rest);
  await nothingWaits(at);
};

test('when one of a batch is cancelled, the first or another, the others keep their order', async () => {
  await Promise.all([1, 2, 4].map(cancelled));
});

test('at most once ends all that were sent, and those behind them go on', async () => {
  const ordering = { ...ORDERING, on_failure: 'skip' };
  const at = await scene(
    app,
    { max: 3, max_wait_seconds: 1 },
    { subscription: { ordering, delivery_mode: 'at_most_once' } },
  );
  at.receiver.answerNext(503);
  await sendAll(at, each(5, ['a']));
  const done = await at.ended(5);
  expect(done.map(({ status }) => status)).toEqual(['Failure', 'Failure', 'Failure', 'Success', 'Success']);
  expect(at.receiver.requests.map(numbers)).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
  await nothingWaits(at);
});

test('without its batches a subscription sends them one after the other', async () => {
  const at = await scene(
    app,
    { max: 5, max_wait_seconds: 1 },
    { subscription: { ordering: ORDERING, retry_config: SOON } },
  );
  at.receiver.answerAlways(503);
  await sendAll(at, each(5, ['a']));
  await at.receiver.received(1);
  await at.client.put(`/endpoints/${at.endpoint.uid}`, { delivery: 'pull', url: '' });
  const path = `/endpoints/${at.endpoint.uid}/pull`;
  const taken: number[] = [];
  await eventually(async () => {
    const { deliveries } = await at.client.post(path, { max: 10, lease_seconds: 60 }, 200);
    taken.push(...deliveries.map(({ body }: Json) => JSON.parse(Buffer.from(body, 'base64').toString()).n));
    const results = deliveries.map((one: Json) => resultOf(one));
    if (results.length > 0) await at.client.post(`${path}/results`, { results }, 200);
    return taken.length;
  }, 5);
  expect(taken).toEqual(upTo(5));
  await nothingWaits(at);
});

test('deliveries of ordering keys are in batches also after their subscription lost its ordering', async () => {
  const { client, receiver, subscription, send, ended } = await scene(
    app,
    { max: 2, max_wait_seconds: 300 },
    { subscription: { ordering: { key: '$.body.account' } } },
  );
  for (const account of ['a', 'b']) await send(1, { event: { data: { n: 1, account } } });
  const [first, second] = await ended(2);
  await client.put(`/subscriptions/${subscription.uid}`, { ordering: {} });
  // They take their places when they are due.
  await client.post('/eventdeliveries/forceresend', { ids: [first?.uid, second?.uid] }, 200);
  const [, again] = await receiver.received(2);
  expect(again?.json).toHaveLength(2);
  await ended(2);
});
