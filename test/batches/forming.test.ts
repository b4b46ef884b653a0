import { expect, test } from 'vitest';
import { Batch } from '../../src/domain/config/batch.ts';
import { BATCH_LANE, LANE } from '../../src/domain/delivery.ts';
import { IdFactory } from '../../src/domain/ids.ts';
import { usualOf } from '../../src/platform/json/schema-marks.ts';
import { formBatches } from '../../src/store/batching/form-batches.ts';
import { batchesOf, lookAtCollected, type Seen } from '../../src/store/batching/look-at-collected.ts';
import { startTestApp } from '../support/app.ts';
import type { ApiClient } from '../support/client.ts';
import { shared } from '../support/shared.ts';
import { scene } from './scene.ts';

/** The statements that look at collected rows and make batches of them. */
const app = await shared(startTestApp());
const db = app.database.open();
const ids = new IdFactory(Date.now);
const NODE = 'node a';
// A living node, so that the app does not free its rows.
await app.database.query(
  `insert into nodes (id, roles, beat_at, seal_keys, knows) values ($1, '', now() + interval '1 day', '{}', '9999')`,
  [NODE],
);

/** A subscription behind a pause that keeps the app away. */
async function collected(limits: Partial<Batch>, subscription: object = {}) {
  const batch = { ...usualOf(Batch.properties), max_wait_seconds: 300, ...limits };
  const made = await scene(app, batch, { subscription });
  await made.client.put(`/endpoints/${made.endpoint.uid}/pause`);
  const key = made.subscription.uid as string;
  const look = async (seen: Seen | null = null, changed: Partial<Batch> = {}) =>
    (await lookAtCollected(db, [{ key, batch: { ...batch, ...changed }, seen }])).get(key) as Seen;
  /** How many deliveries the new batches have. */
  const form = async (batches = 1, changed: Partial<Batch> = {}) => {
    const batchIds = Array.from({ length: batches }, () => ids.next() as string);
    const row = { key, batch: { ...batch, ...changed }, batchIds, hasUnplaced: false };
    return (await formBatches(db, NODE, [row])).get(key) ?? 0;
  };
  /** By batch: how many deliveries it has. */
  const sizes = async () => {
    const rows = await app.database.query(
      `select cardinality(delivery_ids) as size from delivery_queue
       where project_id = $1 and kind = 2 order by delivery_id`,
      [made.client.projectId],
    );
    return rows.map(({ size }) => size);
  };
  return { ...made, look, form, sizes };
}

test('the bytes of rows are read if they may make a batch, and once', async () => {
  const { send, look } = await collected({ max: 3 });
  await send(2);
  const first = await look();
  expect(first).toMatchObject({ count: 2, bytes: 2 * '{"n":1}'.length, backlog: 0 });
  expect(first.waitMs).toBeGreaterThan(0);
  // The bytes that are known are not read.
  expect(await look({ ...first, bytes: 7 })).toMatchObject({ count: 2, bytes: 7 });
  expect(await look({ ...first, bytes: null })).toMatchObject({ bytes: first.bytes });
  expect(await look({ ...first, count: 1, bytes: 7 })).toMatchObject({ bytes: first.bytes });
  expect(await look({ ...first, newestAt: 1, bytes: 7 })).toMatchObject({ bytes: first.bytes });
  expect(await look(null, { max_wait_seconds: 0 })).toMatchObject({ count: 2, bytes: null });
  await send(1, { from: 3 });
  expect(await look(first)).toMatchObject({ count: 3, bytes: null });
});

test('behind eight batches that wait for a node, rows are not counted', async () => {
  const { send, look, form } = await collected({ max: 1 });
  await send(10);
  expect(await form(7)).toBe(7);
  expect(await look()).toMatchObject({ count: 3, backlog: 7 });
  await form();
  expect(await look()).toMatchObject({ count: 0, backlog: 8 });
  const text = await (await fetch(`${app.url}/metrics`)).text();
  expect(text).toMatch(/^posthorn_queue_waiting\{lane="batch"\} ([89]|\d\d)$/m);
  expect(text).toMatch(/^posthorn_queue_oldest_due_seconds\{lane="batch"\} \d*\.\d*[1-9]/m);
});

test('of rows that another node takes at the same time, no small batch is made', async () => {
  const { send, form } = await collected({ max: 10 });
  await send(12);
  // Both have counted 10.
  expect([await form(), await form()]).toEqual([10, 0]);
  expect(await form(1, { max_wait_seconds: 0 })).toBe(2);

  const bytes = await collected({ max_bytes: 20 });
  await bytes.send(3);
  // The third one is too much for the first batch, and not enough for another.
  expect([await bytes.form(), await bytes.form()]).toEqual([2, 0]);
});

test.each(['events', 'event_deliveries'])(
  'a row that has lost what it needs of %s does not stand before others',
  async (table) => {
    const { client, send, form } = await collected({ max: 2 });
    await send(4);
    const rows = (columns: string) =>
      app.database.query(`select ${columns} from delivery_queue where project_id = $1 order by delivery_id`, [
        client.projectId,
      ]);
    const [first] = await rows('delivery_id, event_id');
    await app.database.query(`delete from ${table} where project_id = $1 and id = any($2)`, [
      client.projectId,
      Object.values(first ?? {}),
    ]);
    expect([await form(), await form(), await form(1, { max_wait_seconds: 0 })]).toEqual([0, 2, 1]);
    expect((await rows('node_id')).filter(({ node_id }) => node_id === NODE)).toHaveLength(1);
  },
);

test.each([
  ['one that waits', { count: 1, backlog: 0 }, 100, 1],
  ['a part of a second', { count: 101, backlog: 0 }, 100, 2],
  ['more than may wait', { count: 900, backlog: 0 }, 100, 8],
  ['more than may wait yet', { count: 900, backlog: 5 }, 100, 3],
  ['more than the largest has', { count: 2_000, backlog: 0 }, 400, 2],
  ['the largest', { count: 3_000, backlog: 0 }, 1_000, 1],
])('of %s, so many batches are made at once', (_, seen, max, batches) => {
  expect(batchesOf(seen as Seen, { ...usualOf(Batch.properties), max })).toBe(batches);
});

test('several batches are made at once, each of rows enough', async () => {
  const { client, send, look, form, sizes } = await collected({ max: 4 });
  await send(15);
  await app.database.query(
    `update delivery_queue set lane = ${LANE.retry} where delivery_id in (
       select delivery_id from delivery_queue where project_id = $1 order by delivery_id limit 5)`,
    [client.projectId],
  );
  expect(await look()).toMatchObject({ count: 15, bytes: null });
  expect(await form(2)).toBe(8);
  expect(await form(2)).toBe(4);
  expect(await form(2)).toBe(0);
  expect(await form(2, { max_wait_seconds: 0 })).toBe(3);
  expect(await sizes()).toEqual([4, 4, 4, 3]);

  const bytes = await collected({ max: 3, max_bytes: 20 });
  await bytes.send(7);
  // Each has 14 bytes. Of three rows two are enough, one is not.
  expect(await bytes.form(3)).toBe(4);
  expect(await bytes.form(3)).toBe(2);
  expect(await bytes.form(3)).toBe(0);
  expect(await bytes.sizes()).toEqual([2, 2, 2]);
});

/** All that wait, some time ago. */
const replayed = (client: ApiClient) =>
  app.database.query(
    `update delivery_queue set lane = ${LANE.replay}, due_at = now() - interval '1 hour' where project_id = $1`,
    [client.projectId],
  );

const data = { n: 31, text: 'x'.repeat(100) };
test.each([
  ['rows', { max: 11 }],
  ['bytes', { max: 100, max_bytes: 10 * JSON.stringify(data).length + 20 }],
])(
  'new events do not wait behind a bulk replay: one of it goes along with ten of them: %s',
  async (_, limits) => {
    const { client, send, form } = await collected(limits);
    await send(30);
    await replayed(client);
    await send(20, { event: { data } });
    await form(1, { max_wait_seconds: 7_200 });
    const [members] = await app.database.query(
      `select count(*) filter (where (convert_from(e.payload, 'utf8')::json ->> 'n')::int <= 30)::int as replays,
       count(*) filter (where (convert_from(e.payload, 'utf8')::json ->> 'n')::int > 30)::int as others
     from delivery_queue q join events e on e.project_id = q.project_id and e.id = q.event_id
     where q.project_id = $1 and q.lane = ${BATCH_LANE.member}`,
      [client.projectId],
    );
    expect(members).toEqual({ replays: 1, others: 10 });
  },
);

test.each([
  ['is too large to go along', { max: 20, max_bytes: 150 }, { event: { data } }, {}],
  ['has another mode', { max: 10 }, {}, { delivery_mode: 'at_most_once' }],
  ['gets no space in a small batch', { max: 3 }, {}, {}],
])(
  'a replay that %s goes before some new events, and does not divide the others',
  async (_, limits, event, change) => {
    const { client, subscription, send, form, sizes } = await collected(limits);
    await send(1, event);
    await replayed(client);
    await client.put(`/subscriptions/${subscription.uid}`, change);
    const isLeft = async () =>
      (await app.database
        .query(`select from delivery_queue where project_id = $1 and lane = ${LANE.replay}`, [
          client.projectId,
        ])
        .then(({ length }) => length)) > 0;
    // A replay that has waited begins each second batch by chance, and of full ones each tenth.
    for (let round = 0; round < 300 && (await isLeft()); round++) {
      await send(12);
      await form();
    }
    expect(await isLeft()).toBe(false);
    const withoutIt = (await sizes()).slice(0, -1);
    expect(withoutIt).toEqual(withoutIt.map(() => Math.min(12, limits.max)));
  },
);

test('a delivery with one of another subscription behind it waits for no others', async () => {
  const ordering = { key: 'endpoint' };
  const { client, endpoint, look, form } = await collected({ max: 10 }, { ordering });
  const event = { endpoint_id: endpoint.uid, event_type: 'order.paid', data: {} };
  await client.post('/events', event);
  expect((await look()).waitMs).toBeGreaterThan(0);
  expect(await form()).toBe(0);
  await client.post('/subscriptions', { name: 'other', endpoint_id: endpoint.uid, ordering });
  await client.post('/events', event);
  expect(await look()).toMatchObject({ count: 3, waitMs: 0 });
  expect(await form()).toBeGreaterThan(0);
});

test.each([
  ['rows', { max: 2 }],
  ['bytes', { max: 3, max_bytes: 2 * '{"n":1}'.length }],
])('a batch of one mode is filled with %s past deliveries of another', async (_, limits) => {
  const { client, subscription, send, form, sizes } = await collected(limits);
  for (const delivery_mode of ['at_least_once', 'at_most_once', 'at_least_once', 'at_most_once']) {
    await client.put(`/subscriptions/${subscription.uid}`, { delivery_mode });
    await send(1);
  }
  expect(await form(2)).toBe(2);
  expect(await sizes()).toEqual([2]);
  expect(await form(2)).toBe(2);
});

test('batches that are made at once have one delivery of an ordering key, or are one batch', async () => {
  const subscription = { ordering: { key: '$.body.account' } };
  const many = await collected({ max: 3 }, subscription);
  const few = await collected({ max: 3 }, subscription);
  for (let account = 0; account < 7; account++) await many.send(2, { event: { data: { account } } });
  for (let account = 0; account < 2; account++) await few.send(4, { event: { data: { account } } });
  expect(await many.form(8)).toBe(6);
  expect(await many.sizes()).toEqual([3, 3]);
  const members = await app.database.query(
    `select ordering_id from delivery_queue where project_id = $1 and batch_id is not null`,
    [many.client.projectId],
  );
  expect(new Set(members.map(({ ordering_id }) => ordering_id)).size).toBe(6);
  // The seventh head and its next one.
  expect(await many.form(8, { max_wait_seconds: 0 })).toBe(2);
  expect(await few.form(8)).toBe(3);
  expect(await few.sizes()).toEqual([3]);
});
