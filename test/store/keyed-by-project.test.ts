import { afterEach, expect, test } from 'vitest';
import { asId, IdFactory } from '../../src/domain/ids.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { Database } from '../../src/store/database/database.ts';
import type { Finish } from '../../src/store/queue/finish.ts';
import { finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { finishMetaEvents } from '../../src/store/queue/finish-meta-events.ts';
import { markStarted, releaseRows } from '../../src/store/queue/release-rows.ts';
import { ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { leasedDelivery } from '../support/samples/leased-delivery.ts';

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
  await database?.stop();
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

test('each table and partition has exactly the indexes in use', async () => {
  database = await createTestDatabase();
  db = connect();
  await ensurePartitions(db, Date.now() + 100 * DAY_MS, DAY_MS);
  await expectIndexes();
});

test('the id of a row has no effect in another project', async () => {
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
  const held = leasedDelivery({ projectId: asId('other'), id: asId(id), fence: 1 });
  expect(await markStarted(db, 'n', held)).toBe(false);
  await releaseRows(db, 'n', [held]);
  const finish: Finish = {
    ...back(held),
    status: 'Success',
    delayMs: null,
    numTrials: 1,
  };
  const { moved } = await finishDeliveries(db, { nodeId: 'n', templates: new AttemptTemplates() }, [finish]);
  expect(moved).toEqual(new Set());
  expect(await finishMetaEvents(db, 'n', [finish])).toEqual(new Set());
  expect(await queued()).toEqual(before);
  expect(await markStarted(db, 'n', { ...held, projectId: asId('mine') })).toBe(true);
});
