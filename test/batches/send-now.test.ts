import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { atLeast, eventually, every } from '../support/eventually.ts';
import { openBreaker } from '../support/samples/open-breaker.ts';
import type { Received } from '../support/servers/receiver.ts';
import { completedJob } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { numbers, scene } from './scene.ts';

/** Send now, of deliveries in batches. Waits and breakers last an hour here, so nothing else makes them go. */
const app = await shared(startTestApp());

const HOUR = 3_600;
const config = {
  circuit_breaker: {
    sample_rate: HOUR,
    error_timeout: HOUR,
    minimum_request_count: 4,
    success_threshold: 100,
  },
};
const subscription = { retry_config: { type: 'linear', interval_seconds: HOUR, retry_count: 3 } };
const idOf = ({ headers }: Received) => headers['webhook-id'];

/** Batches that failed once. */
async function waiting(count: number, max = 2) {
  const made = await scene(app, { max, max_wait_seconds: 300 }, { config, subscription });
  made.receiver.answerAlways(503);
  for (let n = 0; n < count; n++) {
    await made.send(max, { from: max * n + 1 });
    await made.receiver.received(n + 1);
  }
  await eventually(made.deliveries, every({ status: 'Retry' }));
  made.receiver.answerAlways(200);
  const { client, receiver, endpoint } = made;
  const probe: ServerResponse[] = [];
  return {
    ...made,
    sendNow: async (query = '') =>
      completedJob(client, await client.post(`/eventdeliveries/sendnow${query}`, undefined, 200)),
    /** The breaker is open, and its probe is answered when `letGo` is called. */
    breaks: async () => {
      await openBreaker(app, client, endpoint);
      receiver.answerNext((_, response) => probe.push(response));
    },
    letGo: () => probe[0]?.end(),
    dueRows: () =>
      app.database.query(
        `select extract(epoch from q.due_at - min(q.due_at) over ())::float8 * 1000 as ms,
           (select array_agg(d.next_send_at = q.due_at) from event_deliveries d where d.id = any(q.delivery_ids)) as is_shown
         from delivery_queue q where q.project_id = $1 and q.kind = 2 and q.node_id is null order by q.due_at`,
        [client.projectId],
      ),
  };
}

test('a batch is sent now with each of its deliveries', async () => {
  const { client, receiver, deliveries, ended, sendNow } = await waiting(1);
  const all = await deliveries();
  expect(all.map(({ waiting_for }) => waiting_for.gate)).toEqual(['retry', 'retry']);
  const { groups } = await eventually(() => client.get('/failures'), { groups: { length: atLeast(1) } });
  expect(groups).toMatchObject([{ outcome: 'http_503', retrying: 2 }]);
  expect(await sendNow(`?deliveryId=${all[0]?.uid}`)).toMatchObject({ total: 1, done: 1, failed: 0 });
  await ended(2);
  const [first, again] = receiver.requests as [Received, Received];
  expect([idOf(again), again.body]).toEqual([idOf(first), first.body]);
});

test('behind an open breaker one batch goes as its probe, that of the filter, and its success releases the rest', async () => {
  const { client, receiver, endpoint, deliveries, ended, sendNow, breaks, letGo } = await waiting(2);
  await breaks();
  const [, , third] = await deliveries();
  expect(await sendNow(`?deliveryId=${third?.uid}`)).toMatchObject({ done: 1 });
  const [, , probe] = await receiver.received(3);
  expect(numbers(probe as Received)).toEqual([3, 4]);
  expect(await sendNow()).toMatchObject({ done: 2 });
  expect((await deliveries()).map(({ waiting_for }) => waiting_for.gate)).toEqual([
    'circuit_breaker',
    'circuit_breaker',
    'sending',
    'sending',
  ]);
  letGo();
  await ended(4);
  expect(receiver.requests).toHaveLength(4);
  expect((await client.get(`/endpoints/${endpoint.uid}`)).cb_state).toBe('closed');
});

test('with a rate, each batch has its turn after the deliveries of those before it', async () => {
  const { receiver, ended, sendNow, breaks, letGo, dueRows } = await waiting(4);
  await breaks();
  expect(await sendNow('?rate=4')).toMatchObject({ rate: 4, done: 8 });
  await receiver.received(5);
  const rows = await dueRows();
  expect(rows.map(({ ms }) => Math.round(ms as number))).toEqual([0, 500, 1_000]);
  expect(rows.map(({ is_shown }) => is_shown)).toEqual(rows.map(() => [true, true]));
  letGo();
  await ended(8);
  expect(receiver.requests).toHaveLength(8);
});

test('a batch with deliveries in two chunks of the job keeps its first turn', async () => {
  const { receiver, ended, sendNow, breaks, letGo } = await waiting(1, 501);
  await breaks();
  expect(await sendNow('?rate=1')).toMatchObject({ done: 501 });
  await receiver.received(2);
  letGo();
  await ended(501);
});

test('the batches of an inactive endpoint are not discarded', async () => {
  const { client, endpoint, deliveries, sendNow } = await waiting(1);
  await app.database.query(
    `with v as (update projects set version = version + 1 where id = $2 returning version)
     update endpoints set status = 'inactive', version = v.version from v where id = $1`,
    [endpoint.uid, client.projectId],
  );
  await eventually(() => client.get(`/endpoints/${endpoint.uid}`), { status: 'inactive' });
  expect(await sendNow()).toMatchObject({ done: 0, failed: 2 });
  expect((await deliveries()).map(({ status }) => status)).toEqual(['Retry', 'Retry']);
});
