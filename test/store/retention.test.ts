import { expect, test } from 'vitest';
import { asId, type EndpointId, firstIdAt, IdFactory } from '../../src/domain/ids.ts';
import type { Queryable } from '../../src/store/database/database.ts';
import type { NewDelivery } from '../../src/store/queue/insert-deliveries.ts';
import { insertReplay } from '../../src/store/queue/replay-events.ts';
import { ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { projectRetentions, removeExpiredOfProjects } from '../../src/store/upkeep/project-retention.ts';
import { removeExpired } from '../../src/store/upkeep/row-remover.ts';
import { createTestDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { upkeep } from '../support/upkeep.ts';

const DAY_MS = 86_400_000;
const DELIVERY: Omit<NewDelivery, 'id' | 'eventId'> = {
  projectId: asId('short'),
  endpointId: asId('e'),
  subscriptionId: null,
  eventType: 't',
  deliveryMode: 'at_least_once',
  retry: { strategy: 'linear', intervalSeconds: 1, maxRetrySeconds: 2, retryLimit: 3, schedule: null },
  key: asId<EndpointId>('e'),
  orderingId: null,
  isUngated: true,
  leased: false,
  dueAtMs: null,
  expiresAtMs: null,
};
const database = await shared(createTestDatabase());
const db = database.open();

async function storeEvent(atMs: number): Promise<string> {
  const id = new IdFactory(() => atMs).next();
  await database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at, idempotency_key)
     values ($1, 'p', 't', 'Success', false, '{}', '{}', now(), $1)`,
    [id],
  );
  await database.query("insert into event_keys (project_id, key, event_id) values ('p', $1, $1)", [id]);
  return id;
}

/** Opens a delivery of an event, with the id of the event. */
async function storeOpen(id: string, projectId: string): Promise<void> {
  await database.query(
    `with d as (
       insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, is_at_most_once, is_exponential,
         interval_seconds, max_retry_seconds, retry_limit, updated_at)
       values ($1, $2, $1, 'e', 't', 'Scheduled', false, false, 1, 2, 3, now()))
     insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at) values ($1, $1, $2, 'e', 0, now())`,
    [id, projectId],
  );
}

/** Ends all open deliveries. */
async function endAll(): Promise<void> {
  await database.query('delete from delivery_queue');
  await database.query("update event_deliveries set status = 'Success'");
}

test('partitions past the retention are removed with their idempotency keys, but not one with an open delivery', async () => {
  const now = Date.now();
  const days = [30, 20, 10].map((age) => now - age * DAY_MS);
  for (const at of days) await ensurePartitions(db, at, DAY_MS);
  const [oldest, older, young] = [
    await storeEvent(days[0] ?? 0),
    await storeEvent(days[1] ?? 0),
    await storeEvent(days[2] ?? 0),
  ];
  await storeOpen(older, 'p');
  const left = async () =>
    (await database.query('select id from events order by id')).map((row) => row['id']);

  await upkeep(db, (options) => removeExpired(options, { ms: now - 15 * DAY_MS }));
  expect(await left()).toEqual([older, young]);
  expect(
    (await database.query('select event_id from event_keys order by 1')).map((row) => row['event_id']),
  ).toEqual([older, young]);
  expect((await partitionBounds(db)).every(({ to }) => to > (oldest ?? ''))).toBe(true);

  await endAll();
  // The queue rows of a project that is copied to here come last.
  await database.query(
    "insert into project_moves (project_id, epoch, from_cell, to_cell, state) values ('m', 1, 1, 2, 'copying')",
  );
  const during = await upkeep(db, (options) => removeExpired(options, { ms: now - 15 * DAY_MS }));
  expect(during?.removed).toEqual([]);
  expect(await left()).toEqual([older, young]);
  await database.query("update project_moves set state = 'arrived'");
  await upkeep(db, (options) => removeExpired(options, { ms: now - 15 * DAY_MS }));
  expect(await left()).toEqual([young]);
  expect((await partitionBounds(db)).some(({ to }) => to <= firstIdAt(now - 15 * DAY_MS))).toBe(false);
});

test.each([7, 31, 3_042])(
  'partitions of %s days follow existing ones without an overlap or a gap',
  async (days) => {
    const at = Date.now();
    await ensurePartitions(db, at, days * DAY_MS);
    const after = (await partitionBounds(db)).filter(({ to }) => to > firstIdAt(at));
    for (const table of new Set(after.map((p) => p.table))) {
      const bounds = after.filter((p) => p.table === table).sort((a, b) => (a.from < b.from ? -1 : 1));
      for (const [n, p] of bounds.slice(1).entries()) expect(p.from).toBe(bounds[n]?.to);
      expect(bounds.at(-1)?.to).toBe(firstIdAt((Math.floor(at / DAY_MS / days) + 3) * days * DAY_MS));
    }
  },
);

test('data past a project’s shorter retention is removed in chunks, except the event of an open delivery', async () => {
  const now = Date.now();
  const [older, old] = [now - 6 * DAY_MS, now - 4 * DAY_MS];
  for (const at of [older, old]) await ensurePartitions(db, at, DAY_MS);
  await database.query(
    `insert into projects (id, name, type, logo_url, config)
     values ('short', 'short', 'outgoing', '', '{"retention_policy":{"policy":"24h","retention_policy_enabled":true}}')`,
  );
  for (const at of [older, old])
    await database.query(
      `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
       select $1 || lpad(n::text, 16, '0'), 'short', 't', 'Success', false, '{}', '{}', now()
       from generate_series(1, 1500) n`,
      [firstIdAt(at).slice(0, 10)],
    );
  const left = async () =>
    (await database.query("select count(*)::int as left from events where project_id = 'short'"))[0]?.[
      'left'
    ];
  const open = `${firstIdAt(old).slice(0, 10)}${'1'.padStart(16, '0')}`;
  await storeOpen(open, 'short');
  await upkeep(db, (options) => removeExpiredOfProjects(options, now));
  expect(await left()).toBe(1);
  await endAll();
  await upkeep(db, (options) => removeExpiredOfProjects(options, now));
  expect(await left()).toBe(0);
});

test('an event that is being replayed stays, and one that was removed is not replayed', async () => {
  const now = Date.now();
  await ensurePartitions(db, now - 5 * DAY_MS, DAY_MS);
  const [first, second] = [await storeEvent(now - 5 * DAY_MS), await storeEvent(now - 5 * DAY_MS)];
  await database.query(`update events set project_id = 'short' where id in ($1, $2)`, [first, second]);
  const replay = (tx: Queryable, id: string) =>
    insertReplay(tx, {
      event: { id: asId(id), projectId: asId('short'), endpointIds: [asId('e')] },
      deliveries: [{ ...DELIVERY, id: new IdFactory(() => now).next(), eventId: asId(id) }],
      expansion: null,
      lane: 0,
    });
  const left = async () =>
    (await database.query("select id from events where project_id = 'short'")).map((row) => row['id']);

  await db.transaction(async (tx) => {
    expect(await replay(tx, first)).toBe(true);
    await upkeep(db, (options) => removeExpiredOfProjects(options, now));
    expect(await left()).toEqual([first]);
  });
  expect(await db.transaction((tx) => replay(tx, second))).toBe(false);
  const queued = await database.query("select event_id from delivery_queue where project_id = 'short'");
  expect(queued).toEqual([{ event_id: first }]);
  // Its delivery, not the queue alone, keeps it.
  await database.query("delete from delivery_queue where project_id = 'short'");
  await database.query("update event_deliveries set status = 'Success' where project_id = 'short'");
  await upkeep(db, (options) => removeExpiredOfProjects(options, now));
  expect(await left()).toEqual([first]);
});

// proves Projects: retention_policy.retention_policy_enabled
test('a disabled policy removes nothing', async () => {
  for (const [id, isEnabled] of Object.entries({ on: true, off: false }))
    await database.query(
      "insert into projects (id, name, type, logo_url, config) values ($1, $1, 'outgoing', '', $2)",
      [id, { retention_policy: { policy: '24h', retention_policy_enabled: isEnabled } }],
    );
  const held = (await projectRetentions(db)).filter(({ projectId }) => projectId.startsWith('o'));
  expect(held).toEqual([{ projectId: 'on', retentionMs: DAY_MS }]);
});

test('a small sample of a new partition is analysed', async () => {
  await ensurePartitions(db, Date.now(), DAY_MS);
  const rows = await database.query(
    `select count(*)::int as columns, array_agg(distinct attstattarget::int) as samples
     from pg_attribute join pg_inherits on inhrelid = attrelid join pg_class on pg_class.oid = attrelid
     where attnum > 0 and relkind = 'r'`,
  );
  expect(rows).toEqual([{ columns: expect.toSatisfy((n) => n > 100), samples: [10] }]);
});
