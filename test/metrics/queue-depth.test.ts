import { expect, test } from 'vitest';
import { queueDepth } from '../../src/store/queue/queue-depth.ts';
import { createTestDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(createTestDatabase());
const db = database.open();

const queue = (from: number, to: number, row: { lane: number; dueInSeconds: number; node: string | null }) =>
  database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id)
     select 'd' || i, 'e' || i, 'p', 'k' || i % 10, $3::int, now() + $4::int * interval '1 second', $5::text
     from generate_series($1::int, $2::int) i`,
    [from, to, row.lane, row.dueInSeconds, row.node],
  );

test('an empty queue has no lanes', async () => {
  expect(await queueDepth(db)).toEqual({
    lanes: [],
    breakersOpen: 0,
    order: { keysWaiting: 0, keysHeld: 0, oldestHeldMs: 0 },
  });
});

test('a row that is not due waits without an age, and a held row does not wait', async () => {
  await queue(1, 5, { lane: 1, dueInSeconds: 600, node: null });
  await queue(6, 8, { lane: 1, dueInSeconds: -600, node: 'a node' });
  expect((await queueDepth(db)).lanes).toEqual([
    { lane: 1, waiting: 5, oldest_due_ms: 0, oldest_pull_ms: 0 },
  ]);
});

test('a long queue is counted up to a bound; the oldest is found wherever it is', async () => {
  await queue(100, 25_000, { lane: 0, dueInSeconds: -60, node: null });
  await database.query(
    "update delivery_queue set due_at = now() - interval '1 day' where delivery_id = 'd25000'",
  );
  const { lanes } = await queueDepth(db);
  expect(lanes.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(20_000);
  const first = lanes.find(({ lane }) => lane === 0);
  expect(first?.oldest_due_ms).toBeGreaterThanOrEqual(86_400_000);
});

test('ordering keys are counted up to a bound, and the longest held one is found wherever it is', async () => {
  await database.query(
    `insert into ordered_deliveries (project_id, ordering_id, place, delivery_id)
     select 'p', 'k' || i % 3, i, 'd' || i from generate_series(1, 30) i`,
  );
  const held = (from: number, to: number) =>
    database.query(
      `insert into ordering_keys (project_id, id, subscription_id, endpoint_id, last_place, head_id, held_at)
       select 'p', 'k' || i, 's' || i % 5, 'e', 1, 'd', case when i % 2 = 0 then now() - i * interval '1 second' end
       from generate_series($1::int, $2::int) i`,
      [from, to],
    );
  await held(1, 9);
  const few = (await queueDepth(db)).order;
  expect(few).toMatchObject({ keysWaiting: 3, keysHeld: 4 });
  expect(few.oldestHeldMs).toBeGreaterThanOrEqual(8_000);
  await held(10, 12_000);
  await database.query(
    `insert into ordered_deliveries (project_id, ordering_id, place, delivery_id)
     select 'q', 'k' || i, i, 'd' || i from generate_series(1, 6000) i`,
  );
  const many = (await queueDepth(db)).order;
  expect(many).toMatchObject({ keysWaiting: 5_000, keysHeld: 5_000 });
  expect(many.oldestHeldMs).toBeGreaterThanOrEqual(12_000_000);
});
