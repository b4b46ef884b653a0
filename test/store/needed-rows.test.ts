import { copyFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import { Database } from '../../src/store/database/database.ts';
import { detachedPartitions, ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { removeExpiredOfProjects } from '../../src/store/upkeep/project-retention.ts';
import { type RemovedPartitions, removePartitions } from '../../src/store/upkeep/remove-partitions.ts';
import { removeExpired } from '../../src/store/upkeep/row-remover.ts';
import { withUpkeepLock } from '../../src/store/upkeep/upkeep-lock.ts';
import type { Json } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { olderTransactionsEnded } from '../support/older-transactions.ts';
import { quietLog } from '../support/quiet-log.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { upkeep } from '../support/upkeep.ts';

/** Partitions past the retention in which an open delivery, or one that holds its ordering key, needs rows. */
const DAY_MS = 86_400_000;
const NOW = Date.now();
const RETENTION_MS = 5 * DAY_MS;
const TABLES = ['events', 'event_deliveries', 'delivery_attempts', 'event_keys', 'meta_events'];
let database: TestDatabase;
let db: Database;
let directory: string;

beforeEach(async () => {
  database = await createTestDatabase();
  db = database.open();
  directory = temporaryFolder();
  for (const days of [10, 4, 1]) await ensurePartitions(db, NOW - days * DAY_MS, DAY_MS);
  return async () => {
    await database.stop();
  };
});

const idAt = (ageDays: number, n: number) =>
  firstIdAt(NOW - ageDays * DAY_MS).slice(0, 10) + String(n).padStart(16, '0');

/** Ended deliveries, each with the id of its event, an attempt and an idempotency key, and as many meta events. */
async function store(
  projectId: string,
  rows: { ageDays: number; first: number; last?: number },
): Promise<void> {
  const values = [projectId, idAt(rows.ageDays, 0).slice(0, 10)];
  const series = `generate_series(${rows.first}, ${rows.last ?? rows.first}) n`;
  const id = `$2 || lpad(n::text, 16, '0')`;
  const statements = [
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at, idempotency_key)
     select ${id}, $1, 't', 'Success', false, '{}', '{}', now(), ${id} from ${series}`,
    `insert into event_keys (project_id, key, event_id) select $1, ${id}, ${id} from ${series}`,
    `insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, is_at_most_once, is_exponential,
       interval_seconds, max_retry_seconds, retry_limit, updated_at)
     select ${id}, $1, ${id}, 'e', 't', 'Failure', false, false, 1, 2, 3, now() from ${series}`,
    `insert into delivery_attempts (id, delivery_id, project_id, endpoint_id, succeeded, is_stale, record, requested_at)
     select 'a', ${id}, $1, 'e', false, false, '[[1],null,"u",null,null,0,0]', now() from ${series}`,
    `insert into meta_events (id, project_id, event_type, status, payload, is_exponential, interval_seconds,
       max_retry_seconds, retry_limit, updated_at)
     select ${id} || $1, $1, 't', 'Success', '{}', false, 1, 2, 3, now() from ${series}`,
  ];
  for (const statement of statements) await database.query(statement, values);
}

async function reopen(projectId: string, id: string): Promise<void> {
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at) values ($1, $1, $2, 'e', 0, now())`,
    [id, projectId],
  );
  await database.query(`update event_deliveries set status = 'Scheduled' where id = $1 and project_id = $2`, [
    id,
    projectId,
  ]);
}

async function end(id: string): Promise<void> {
  await database.query('delete from delivery_queue where delivery_id = $1', [id]);
  await database.query(`update event_deliveries set status = 'Success' where id = $1`, [id]);
}

const hold = (projectId: string, id: string) =>
  database.query(
    `insert into ordering_keys (project_id, id, subscription_id, endpoint_id, last_place, head_id, held_at)
     values ($1, 'k', 's', 'e', 1, $2, now())`,
    [projectId, id],
  );

async function removeOld(): Promise<RemovedPartitions> {
  await olderTransactionsEnded(database);
  return upkeep(db, (options) => removeExpired(options, { ms: NOW - RETENTION_MS }), {
    exportDirectory: directory,
  });
}

/** The rows that are left in each table, as `project id`. */
async function left(): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const table of TABLES) {
    const id =
      { delivery_attempts: 'delivery_id', event_keys: 'event_id', meta_events: 'left(id, 26)' }[table] ??
      'id';
    const rows = await database.query(`select project_id || ' ' || ${id} as row from ${table} order by 1`);
    all[table] = rows.map(({ row }) => row as string);
  }
  return all;
}

const only = (...rows: string[]) => ({
  events: rows,
  event_deliveries: rows,
  delivery_attempts: rows,
  event_keys: rows,
  meta_events: [],
});

/** The rows of all files, each as `table project id`. */
async function exported(): Promise<string[]> {
  const rows: string[] = [];
  for (const name of await readdir(directory)) {
    const table = name.replace(/_[0-9]{10}(_.*)?\.jsonl\.gz$/, '');
    const text = gunzipSync(await readFile(join(directory, name))).toString();
    for (const line of text.trim().split('\n')) {
      const row: Json = JSON.parse(line);
      rows.push(`${table} ${row.project_id} ${row.delivery_id ?? row.id}`);
    }
  }
  return rows.toSorted();
}

const numbers = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n);
const filesOf = (rows: string[]) =>
  ['events', 'event_deliveries', 'delivery_attempts', 'meta_events'].flatMap((table) =>
    rows.map((row) => `${table} ${row}${table === 'meta_events' ? row.split(' ')[0] : ''}`),
  );

const partitionsOf = async (ageDays: number) =>
  (await partitionBounds(db)).filter(({ from, to }) => from <= idAt(ageDays, 0) && idAt(ageDays, 0) < to);

test('a partition with an open delivery keeps what that needs, and all other rows go, each into one file', async () => {
  // More than a page, and ids that the other project has too.
  await store('other', { ageDays: 10, first: 2, last: 1_200 });
  await store('holder', { ageDays: 10, first: 1, last: 3 });
  await store('young', { ageDays: 1, first: 1 });
  const [open, second] = [idAt(10, 2), idAt(10, 3)];
  await reopen('holder', open);
  await reopen('holder', second);
  const { needed, exportProblem } = await removeOld();
  expect(exportProblem).toBeNull();
  expect(needed.map(({ table }) => table).toSorted()).toEqual([
    'delivery_attempts',
    'event_deliveries',
    'events',
  ]);
  const young = `young ${idAt(1, 1)}`;
  expect(await left()).toEqual({
    ...only(`holder ${open}`, `holder ${second}`, young),
    meta_events: [young],
  });
  // A second run finds nothing to do.
  const files = await readdir(directory);
  await removeOld();
  expect(await readdir(directory)).toEqual(files);

  // After a vacuum the few rows that are left are found by their key.
  await database.query('vacuum');
  const isSparse = `select reltuples < relpages as yes from pg_class where oid = $1::regclass`;
  for (const { name } of needed) expect(await database.query(isSparse, [name])).toEqual([{ yes: true }]);
  await end(second);
  await removeOld();
  expect(await left()).toEqual({ ...only(`holder ${open}`, young), meta_events: [young] });

  await end(open);
  expect(await removeOld()).toMatchObject({ needed: [], waiting: [], exportProblem: null });
  expect(await left()).toEqual({ ...only(young), meta_events: [young] });
  expect(await partitionsOf(10)).toEqual([]);
  const removed = [1, 2, 3].map((n) => `holder ${idAt(10, n)}`);
  removed.push(...numbers(2, 1_200).map((n) => `other ${idAt(10, n)}`));
  expect(await exported()).toEqual(filesOf(removed).toSorted());
});

test('a delivery that failed and holds its ordering key keeps its rows until the hold ends', async () => {
  await store('holder', { ageDays: 10, first: 1, last: 2 });
  await store('short', { ageDays: 4, first: 1, last: 4 });
  // Two of these are too many bytes for one chunk.
  await database.query(
    `update events set payload = convert_to(repeat('x', 9000000), 'UTF8') where project_id = 'short'`,
  );
  await database.query(
    `insert into projects (id, name, type, logo_url, config)
     values ('short', 'short', 'outgoing', '', '{"retention_policy":{"policy":"24h","retention_policy_enabled":true}}')`,
  );
  const [head, own] = [idAt(10, 2), idAt(4, 1)];
  await hold('holder', head);
  await hold('short', own);
  await removeOld();
  await upkeep(db, (options) => removeExpiredOfProjects(options, NOW));
  expect(await left()).toEqual(only(`holder ${head}`, `short ${own}`));
  await database.query('update ordering_keys set held_at = null, head_id = null');
  await removeOld();
  await upkeep(db, (options) => removeExpiredOfProjects(options, NOW));
  expect(await left()).toEqual(only());
});

test('the event of a held delivery stays while the partition of the delivery cannot be seen', async () => {
  await store('holder', { ageDays: 10, first: 1 });
  const id = idAt(10, 1);
  await hold('holder', id);
  const deliveries = (await partitionsOf(10)).find(({ table }) => table === 'event_deliveries');
  await db.query(`alter table event_deliveries detach partition ${deliveries?.name} concurrently`);
  const reader = await connectReader(deliveries?.name ?? '');
  const blocked = await upkeep(db, (options) => removeExpired(options, { ms: NOW - RETENTION_MS }), {
    waitsMs: 500,
  });
  expect(blocked.waiting).toContain(deliveries?.name);
  expect((await left())['events']).toEqual([`holder ${id}`]);
  await reader();
  await removeOld();
  expect(await left()).toEqual(only(`holder ${id}`));
});

/** Reads a table. The result ends the read. */
async function connectReader(table: string): Promise<() => Promise<void>> {
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let began: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    began = resolve;
  });
  const reading = db.transaction(async (tx) => {
    await tx.query(`select from ${table}`);
    began();
    await ended;
  });
  await begun;
  return async () => {
    finish();
    await reading;
  };
}

test('a partition that nothing needs goes, between two that stay and next to a large fan-out', async () => {
  for (const ageDays of [10, 9, 8]) await store('holder', { ageDays, first: 1 });
  await reopen('holder', idAt(10, 1));
  // The fan-out has made no delivery so far.
  await database.query('delete from event_deliveries where id = $1', [idAt(8, 1)]);
  await database.query(
    `insert into expansions (id, event_id, project_id, subscription_ids, lane) values ($1, $1, 'holder', '{s}', 0)`,
    [idAt(8, 1)],
  );
  await removeOld();
  expect((await left())['events']).toEqual([`holder ${idAt(10, 1)}`, `holder ${idAt(8, 1)}`]);
  expect((await partitionsOf(9)).length).toBe(0);
  expect((await partitionsOf(10)).map(({ table }) => table)).not.toContain('meta_events');
  expect((await partitionsOf(8)).map(({ table }) => table)).toEqual(['events']);
});

test('a run that is stopped in the middle is continued by the next one, and no row is in two files', async () => {
  await store('other', { ageDays: 10, first: 1, last: 1_500 });
  await store('holder', { ageDays: 10, first: 1 });
  await reopen('holder', idAt(10, 1));
  const stop = new AbortController();
  /** The first page is the last one. */
  class StoppingDatabase extends Database {
    override transaction: Database['transaction'] = (work) => {
      stop.abort();
      return super.transaction(work);
    };
  }
  const connection = { connectionString: database.url };
  const stopping = new StoppingDatabase({ connection, connections: 4, log: quietLog });
  await withUpkeepLock(db, stop.signal, (session) =>
    removeExpired(
      { db: stopping, session, signal: stop.signal, exportDirectory: directory },
      { ms: NOW - RETENTION_MS },
    ),
  );
  await stopping.close();
  const { event_deliveries: some, events: all } = await left();
  expect(some?.length).toBeGreaterThan(1);
  expect(some?.length).toBeLessThan(1_501);
  expect(all).toHaveLength(1_501);
  // A node that was killed has left files of a chunk that it did not commit. Its first row is now in the middle of one.
  const [done] = (await readdir(directory)).filter((name) => name.startsWith('event_deliveries_'));
  const killed = done?.replace(idAt(10, 1), idAt(10, 1_300));
  await copyFile(join(directory, done ?? ''), join(directory, killed ?? ''));
  await removeOld();
  await end(idAt(10, 1));
  await removeOld();
  const rows = [...numbers(1, 1_500).map((n) => `other ${idAt(10, n)}`), `holder ${idAt(10, 1)}`];
  expect(await exported()).toEqual(filesOf(rows).toSorted());
});

test('a partition that is needed after its detach is attached again, also after a migration', async () => {
  await store('holder', { ageDays: 10, first: 1 });
  await store('other', { ageDays: 10, first: 2 });
  const events = (await partitionsOf(10)).find(({ table }) => table === 'events');
  await db.query(`alter table events detach partition ${events?.name} concurrently`);
  await db.query(
    `alter table events add column number integer not null default 7, add column words text[] collate "C",
       drop column url_path`,
  );
  await reopen('holder', idAt(10, 1));
  const { removed, needed } = await upkeep(db, (options) => removePartitions(options, ''));
  // It is within the retention of this call: no rows go.
  expect({ removed, needed }).toEqual({ removed: [], needed: [] });
  expect(await detachedPartitions(db)).toEqual([]);
  expect(await database.query('select project_id, number, words from events order by 1')).toEqual([
    { project_id: 'holder', number: 7, words: null },
    { project_id: 'other', number: 7, words: null },
  ]);
  await removeOld();
  expect(await left()).toEqual(only(`holder ${idAt(10, 1)}`));
});
