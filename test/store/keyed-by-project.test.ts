import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { firstIdAt, IdFactory } from '../../src/domain/ids.ts';
import { Database } from '../../src/store/database/database.ts';
import { markStarted, releaseDeliveries } from '../../src/store/queue/claim-deliveries.ts';
import { type Finish, finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { finishMetaEvents } from '../../src/store/queue/finish-meta-events.ts';
import { applyMigrations, listMigrations, migrate } from '../../src/store/upkeep/migrate.ts';
import { ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';

const DAY_MS = 86_400_000;

/** Every index is written for each row, so each has to be worth it: these and no others. */
const INDEXES: Record<string, string[]> = {
  events: [
    '(project_id, id) unique',
    '(project_id, idempotency_key, id) WHERE (idempotency_key IS NOT NULL)',
  ],
  event_deliveries: [
    '(endpoint_id, id) WHERE (endpoint_id IS NOT NULL)',
    '(event_id, id) WHERE (event_id IS NOT NULL)',
    '(project_id, id) unique',
  ],
  delivery_attempts: ['(project_id, delivery_id, id) unique'],
  delivery_queue: ['(key, lane, due_at) WHERE (node_id IS NULL)', '(project_id, delivery_id) unique'],
};

let database: TestDatabase;
let db: Database;

const connect = () =>
  new Database({ connection: { connectionString: database.url }, connections: 4, log: quietLog });

afterEach(async () => {
  await db?.close();
  await database?.drop();
});

/** By table, partitions included. */
async function indexes(): Promise<Record<string, string[]>> {
  const rows = await database.query(
    `select c.relname as table, array_agg(
       substring(pg_get_indexdef(i.indexrelid) from '\\(.*$') || case when i.indisunique then ' unique' else '' end
       order by pg_get_indexdef(i.indexrelid) ~ 'UNIQUE', pg_get_indexdef(i.indexrelid)) as indexes
     from pg_index i join pg_class c on c.oid = i.indrelid
     where c.relname ~ '^(events|event_deliveries|delivery_attempts|delivery_queue)(_[0-9]{10})?$' and i.indisvalid
     group by c.relname`,
  );
  return Object.fromEntries(
    rows.map((row) => [String(row['table']), (row['indexes'] as string[]).toSorted()]),
  );
}

async function expectIndexes(): Promise<void> {
  const found = await indexes();
  const names = (await partitionBounds(db)).map(({ name }) => name);
  const kept = [...Object.keys(INDEXES), ...names].filter((name) => !name.startsWith('meta_events'));
  expect(Object.keys(found).toSorted()).toEqual(kept.toSorted());
  for (const [table, list] of Object.entries(found))
    expect([table, list]).toEqual([table, INDEXES[table.replace(/_\d{10}$/, '')]]);
}

test('each table and partition has exactly the indexes that something is found by', async () => {
  database = await createTestDatabase();
  db = connect();
  await ensurePartitions(db, Date.now() + 100 * DAY_MS, DAY_MS);
  await expectIndexes();
});

test('the id of a row does nothing together with another project', async () => {
  database = await createTestDatabase();
  db = connect();
  const id = new IdFactory(() => Date.now()).next();
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id)
     values ($1, $1, 'mine', 'e', 0, now(), 'n')`,
    [id],
  );
  const queued = () => database.query('select * from delivery_queue');
  const before = await queued();
  const held = { projectId: 'other', id, fence: 1 };
  expect(await markStarted(db, 'n', held)).toBe(false);
  await releaseDeliveries(db, 'n', [held]);
  const finish: Finish = {
    deliveryId: id,
    projectId: 'other',
    endpointId: 'e',
    fence: 1,
    status: 'Success',
    description: null,
    numTrials: 1,
    latencyMs: null,
    delayMs: null,
    lane: 0,
    key: 'e',
    body: null,
    attempt: null,
  };
  expect(await finishDeliveries(db, 'n', [finish])).toEqual(new Set());
  expect(await finishMetaEvents(db, 'n', [finish])).toEqual(new Set());
  expect(await queued()).toEqual(before);
  expect(await markStarted(db, 'n', { ...held, projectId: 'mine' })).toBe(true);
});

describe('a database from before', () => {
  const now = Date.now();
  const old = now - 30 * DAY_MS;

  beforeEach(async () => {
    database = await createTestDatabase({ empty: true });
    db = connect();
    const before = (await listMigrations()).filter((name) => name < '0015');
    await db.transaction((tx) => applyMigrations(tx, before));
    for (const at of [old, now]) await ensurePartitions(db, at, DAY_MS);
    for (const at of [old, now]) await store(at);
  });

  /** An event of each of two projects, with a delivery, an attempt and a queue row. */
  async function store(atMs: number): Promise<void> {
    const ids = new IdFactory(() => atMs);
    for (const project of ['p1', 'p2']) {
      const id = ids.next();
      await database.query(
        `with e as (
           insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
           values ($1, $2, 't', 'Success', false, '{}', '{}', now())
         ), d as (
           insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, delivery_mode,
             strategy, interval_seconds, max_retry_seconds, retry_limit, updated_at)
           values ($1, $2, $1, 'e', 't', 'Scheduled', 'at_least_once', 'linear', 1, 1, 1, now())
         ), a as (
           insert into delivery_attempts (id, delivery_id, project_id, endpoint_id, url, succeeded, is_stale,
             request_headers, timings, requested_at)
           values ($1, $1, $2, 'e', 'http://127.0.0.1', false, false, '{}', '{}', now())
         )
         insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
         values ($1, $1, $2, 'e', 0, now())`,
        [id, project],
      );
    }
  }

  const rows = () =>
    database.query(
      `select 'e' as what, project_id, id from events union all select 'd', project_id, id from event_deliveries
       union all select 'a', project_id, delivery_id from delivery_attempts
       union all select 'q', project_id, delivery_id from delivery_queue order by 1, 2, 3`,
    );
  const storage = () =>
    database.query(
      `select relname, reloptions from pg_class where relkind in ('r', 'p')
         and relname ~ '^(event|delivery_)' order by relname`,
    );

  test('is keyed anew with its rows, the old partitions too, and keeps how its tables are stored', async () => {
    const [rowsBefore, storageBefore] = [await rows(), await storage()];
    expect(rowsBefore).toHaveLength(16);
    expect(await migrate(db, quietLog)).toContain('0015_keyed_by_project.sql');
    await expectIndexes();
    expect(await rows()).toEqual(rowsBefore);
    expect(await storage()).toEqual(storageBefore);
    await ensurePartitions(db, now + 100 * DAY_MS, DAY_MS);
    await expectIndexes();
    await expect(
      database.query('insert into events select * from events where id < $1', [firstIdAt(now - DAY_MS)]),
    ).rejects.toThrow(/duplicate key value/);
  });

  test('may have partitions that are detached: they can be attached again', async () => {
    const before = await partitionBounds(db);
    const detached = before.filter(({ table, from }) => table !== 'meta_events' && from <= firstIdAt(old));
    expect(detached).toHaveLength(3);
    const rowsBefore = await rows();
    for (const { table, name } of detached)
      await database.query(`alter table ${table} detach partition ${name} concurrently`);
    await migrate(db, quietLog);
    for (const { table, name, from, to } of detached)
      await database.query(
        `alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`,
      );
    expect(await partitionBounds(db)).toEqual(before);
    await expectIndexes();
    expect(await rows()).toEqual(rowsBefore);
  });

  test('is left as it is while an older node is alive', async () => {
    await database.query("insert into nodes (id, roles, knows) values ('older', 'api', '0014')");
    await expect(migrate(db, quietLog)).rejects.toThrow(
      /0015_keyed_by_project\.sql .* \(older\): stop all of them first$/,
    );
    expect((await indexes())['delivery_queue']).toHaveLength(3);
  });
});
