import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import { WriteError } from '../../src/platform/whole-file.ts';
import { Database } from '../../src/store/database/database.ts';
import { exportTable } from '../../src/store/upkeep/export-rows.ts';
import { detachedPartitions, ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { removeExpiredOfProjects } from '../../src/store/upkeep/project-retention.ts';
import { removeExpired } from '../../src/store/upkeep/row-remover.ts';
import type { Json } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { olderTransactionsEnded } from '../support/older-transactions.ts';
import { quietLog } from '../support/quiet-log.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { upkeep } from '../support/upkeep.ts';

const DAY_MS = 86_400_000;
const NOW = Date.now();
const OLD = NOW - 10 * DAY_MS;
/** More than one chunk of either kind of removal. */
const ROWS = 1_050;
const OTHERS = 20;
const TABLES = ['events', 'event_deliveries', 'delivery_attempts', 'meta_events'];
const PAYLOADS = [
  Buffer.from('{"price":1.10,"name":"Zoë 😀"}'),
  Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x80]),
  Buffer.from('two\nlines\u0000and a "zero"'),
  Buffer.alloc(0),
];
let database: TestDatabase;
let db: Database;
let directory: string;
let clients: pg.Client[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  db = new Database({ connection: { connectionString: database.url }, connections: 4, log: quietLog });
  directory = temporaryFolder();
  await database.query("set timezone = 'UTC'");
  await ensurePartitions(db, OLD, DAY_MS);
  await database.query(
    `insert into projects (id, name, type, logo_url, config)
     values ('short', 'short', 'outgoing', '', '{"retention_policy":{"policy":"24h","retention_policy_enabled":true}}')`,
  );
  await store('short', ROWS);
  await store('other', OTHERS);
  await olderTransactionsEnded(database);
  return async () => {
    await Promise.all(clients.map((client) => client.end()));
    clients = [];
    await db.close();
    await database.stop();
  };
});

/** Old rows of every table; the payloads take turns. */
async function store(projectId: string, rows: number): Promise<void> {
  const id = `$1 || lpad(n::text, 11, '0') || left($2 || 'xxxxx', 5)`;
  const values = [firstIdAt(OLD).slice(0, 10), projectId];
  // One is larger than what is read at once.
  const payload = `case when n = 700 and $2 = 'short' then repeat('x', 2200000)::bytea else ($3::bytea[])[n % 4 + 1] end`;
  await database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at, headers)
     select ${id}, $2, 'a "type"', 'Success', false, '{one,"t w o"}', ${payload}, '2026-01-02 03:04:05.678901+00', '{"a":["b"]}'
     from generate_series(1, ${rows}) n`,
    [...values, PAYLOADS],
  );
  await database.query(
    `insert into event_deliveries (id, project_id, event_id, endpoint_id, event_type, status, is_at_most_once, is_exponential,
       interval_seconds, max_retry_seconds, retry_limit, latency_ms, body, updated_at, attempt_id,
       attempt_at, attempt_succeeded, attempt_template_id, attempt_record, attempt_body)
     select ${id}, $2, ${id}, 'e', 't', 'Success', false, false, 1, 2, 3, 12.5, ${payload}, now(), 'kept', now(), true, 1,
       '${BY_TEMPLATE}', '\\x00ff'
     from generate_series(1, ${rows}) n`,
    [...values, PAYLOADS],
  );
  await database.query(
    `insert into delivery_attempts (id, delivery_id, project_id, endpoint_id, succeeded, is_stale, template_id, record,
       response_body, requested_at)
     select try::text, ${id}, $2, 'e', try = 2, false, case try when 2 then 1 end,
       case try when 1 then '${WHOLE}' else '${BY_TEMPLATE}' end, ${payload}, now()
     from generate_series(1, ${rows}) n cross join generate_series(1, 2) try`,
    [...values, PAYLOADS],
  );
  await database.query(
    `insert into attempt_templates (project_id, id, slots) values ($1, 1, '${TEMPLATE}') on conflict do nothing`,
    [values[1]],
  );
  await database.query(
    `insert into meta_events (id, project_id, event_type, status, payload, is_exponential, interval_seconds,
       max_retry_seconds, retry_limit, updated_at)
     select ${id}, $2, 't', 'Success', ${payload}, false, 1, 2, 3, now() from generate_series(1, ${rows}) n`,
    [...values, PAYLOADS],
  );
}

async function connect(): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: database.url });
  await made.connect();
  clients.push(made);
  return made;
}

/** The partition that the rows are in. */
async function oldest(table: string): Promise<string> {
  const [partition] = (await partitionBounds(db)).filter((one) => one.table === table);
  return partition?.name ?? '';
}

/** The same attempt, in both forms, and as a file has it. */
const WHOLE = '[[1.5],null,"http://x",null,"200 OK",1,1,"a","b","c","d"]';
const TEMPLATE = '["http://x",null,"200 OK",1,1,"a",true,"c","d"]';
const BY_TEMPLATE = '[[1.5],null,"b"]';
const UNPACKED = {
  url: 'http://x',
  ip_address: null,
  http_status: '200 OK',
  error: null,
  timings: { totalMs: 1.5 },
  request_headers: { a: 'b' },
  response_headers: { c: ['d'] },
};

/** A stored row as a file has it: with the attempt that it holds. */
function unpackedRow(row: Json): Json {
  const without = (names: RegExp) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !names.test(name)));
  if (row.record !== undefined) return { ...without(/^(template_id|record)$/), ...UNPACKED };
  if (row.attempt_record === undefined) return row;
  const {
    attempt_id: id,
    attempt_at: requested_at,
    attempt_succeeded: succeeded,
    attempt_body: response_body,
  } = row;
  const attempt = { id, delivery_id: row.id, succeeded, requested_at, response_body, ...UNPACKED };
  return { ...without(/^attempt_/), attempt };
}

type Rows = Record<string, Json[]>;
const keyOf = (row: Json): string => `${row.delivery_id ?? ''} ${row.id}`;
const inOrder = (rows: Json[]) => rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

/** Every row as the database has it, with bytes in hexadecimal. */
async function stored(projects: string[]): Promise<Rows> {
  const all: Rows = {};
  for (const table of TABLES) {
    const rows = await database.query(`select to_json(t) as row from ${table} t where project_id = any($1)`, [
      projects,
    ]);
    all[table] = inOrder(rows.map(({ row }) => unpackedRow(row)));
  }
  return all;
}

/** Every line of the files, in the shape that `stored` has. */
async function exported(): Promise<Rows> {
  const all: Rows = Object.fromEntries(TABLES.map((table) => [table, []]));
  const types = { events: ['payload'], event_deliveries: ['body'], delivery_attempts: ['response_body'] };
  for (const name of await readdir(directory)) {
    const table = TABLES.findLast((one) => name.startsWith(`${one}_`)) ?? '';
    const bytes: string[] = { ...types, meta_events: ['payload', 'response_body'] }[table] ?? [];
    const lines = gunzipSync(await readFile(join(directory, name)))
      .toString()
      .split('\n');
    expect(lines.pop()).toBe('');
    all[table]?.push(...lines.map((line) => asStored(JSON.parse(line), bytes)));
  }
  return Object.fromEntries(Object.entries(all).map(([table, rows]) => [table, inOrder(rows)]));
}

function asStored(line: Json, bytes: string[]): Json {
  const { ...row } = line;
  if (row.attempt) row.attempt = asStored(row.attempt, ['response_body']);
  for (const column of bytes) {
    const { [column]: text, [`${column}_base64`]: base64 } = line;
    delete row[`${column}_base64`];
    const value = base64 === undefined ? text : Buffer.from(base64, 'base64');
    row[column] = value === null ? null : `\\x${Buffer.from(value).toString('hex')}`;
  }
  for (const [column, value] of Object.entries(row))
    if (column.endsWith('_at') && typeof value === 'string')
      row[column] = `${value.replace(/\.?0*Z$/, '')}+00:00`;
  return row;
}

const removeOld = (waits: { waitsMs?: number } = {}) =>
  upkeep(db, (options) => removeExpired(options, { ms: NOW - 5 * DAY_MS }), {
    exportDirectory: directory,
    ...waits,
  });
const removeBehindLock = () => removeOld({ waitsMs: 1_000 });
const removeShort = () =>
  upkeep(db, (options) => removeExpiredOfProjects(options, NOW), { exportDirectory: directory });
const none = Object.fromEntries(TABLES.map((table) => [table, []]));

describe('of partitions', { timeout: 120_000 }, () => {
  test('has every row with every column and exact bytes, and then they are removed', async () => {
    const before = await stored(['short', 'other']);
    expect(before['delivery_attempts']).toHaveLength(2 * (ROWS + OTHERS));
    const { removed, exportProblem } = await removeOld();
    expect(exportProblem).toBeNull();
    expect(await exported()).toEqual(before);
    expect(await stored(['short', 'other'])).toEqual(none);
    // The partitions that had rows; of each table three were removed.
    expect(removed).toHaveLength(12);
    expect(await readdir(directory)).toHaveLength(4);
    expect(removed.map((name) => `${name}.jsonl.gz`)).toEqual(
      expect.arrayContaining(await readdir(directory)),
    );
  });

  test('begun by a killed node is repeated, and no row is missing or duplicated', async () => {
    const before = await stored(['short', 'other']);
    // A version that detached before it wrote was killed in between.
    const attempts = await oldest('delivery_attempts');
    await db.query(`alter table delivery_attempts detach partition ${attempts} concurrently`);
    const reader = await connect();
    await reader.query(`begin; select from ${attempts}`);
    expect(await removeBehindLock()).toMatchObject({ waiting: [attempts] });
    await reader.query('commit');
    expect((await readdir(directory)).length).toBeGreaterThan(0);
    // It is not in a file, so it comes back first.
    await removeOld();
    expect((await stored(['short', 'other']))['delivery_attempts']).toEqual(before['delivery_attempts']);
    expect(await removeOld()).toMatchObject({ removed: [attempts], waiting: [], exportProblem: null });
    expect(await exported()).toEqual(before);
  });

  test('completed before the node was killed is not repeated', async () => {
    const before = await stored(['short', 'other']);
    const reader = await connect();
    await reader.query('begin; select from meta_events');
    const metaEvents = await oldest('meta_events');
    expect(await removeBehindLock()).toMatchObject({ waiting: [metaEvents] });
    await reader.query('commit');
    expect(await exported()).toEqual(before);
    for (const name of await readdir(directory)) await rm(join(directory, name));
    expect((await removeOld()).removed).toContain(metaEvents);
    expect(await readdir(directory)).toEqual([]);
  });

  test('during which a row is written is repeated, with that row', async () => {
    const before = await stored(['short', 'other']);
    const events = await oldest('events');
    const writer = await connect();
    await writer.query('begin');
    await writer.query(`update events set event_type = 'changed' where project_id = 'other'`);
    // The file has the rows without the change; the partition waits for the transaction.
    expect(await removeBehindLock()).toMatchObject({ waiting: [events] });
    expect((await exported())['events']).toEqual(before['events']);
    await writer.query('commit');
    expect((await removeOld()).removed).not.toContain(events);
    const changed = await stored(['short', 'other']);
    expect(changed['events']?.filter((row) => row.event_type === 'changed')).toHaveLength(OTHERS);
    expect((await removeOld()).removed).toContain(events);
    expect((await exported())['events']).toEqual(changed['events']);
  });

  test('that cannot be written removes nothing, and continues once it can', async () => {
    const before = await stored(['short', 'other']);
    const events = await oldest('events');
    // The name is taken by a directory: nothing can be moved there.
    const taken = join(directory, `${events}.jsonl.gz`);
    await mkdir(taken);
    const first = await removeOld();
    expect(first.exportProblem).toContain(taken);
    expect(first.removed).not.toContain(events);
    expect((await stored(['short', 'other']))['events']).toEqual(before['events']);
    expect(await detachedPartitions(db)).toEqual([]);
    expect((await readdir(directory)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await rm(taken, { recursive: true });
    expect(await removeOld()).toMatchObject({ exportProblem: null });
    expect(await exported()).toEqual(before);
  });
});

test('of a table is aborted on a stop, and leaves nothing', async () => {
  const table = { name: await oldest('events'), key: ['id'], bytes: '0' };
  expect(await exportTable(db, table, { directory, signal: AbortSignal.abort() })).toBe(false);
  expect(await readdir(directory)).toEqual([]);
});

describe("of data removed by a project's own retention", { timeout: 120_000 }, () => {
  test('has every row with every column and exact bytes, and nothing of other projects', async () => {
    const before = await stored(['short']);
    const others = await stored(['other']);
    await removeShort();
    expect(await exported()).toEqual(before);
    expect(await stored(['short'])).toEqual(none);
    expect(await stored(['other'])).toEqual(others);
  });

  test('that cannot be written deletes nothing, and is repeated once it can', async () => {
    const before = await stored(['short']);
    const [first] = before['event_deliveries'] ?? [];
    // The attempts of the first chunk cannot be written; its deliveries can, and are not deleted either.
    const taken = join(directory, `delivery_attempts_short_${first.id}.jsonl.gz`);
    await mkdir(taken);
    await expect(removeShort()).rejects.toThrow(WriteError);
    expect(await stored(['short'])).toEqual(before);
    expect(await readdir(directory)).toContain(`event_deliveries_short_${first.id}.jsonl.gz`);
    await rm(taken, { recursive: true });
    await removeShort();
    expect(await exported()).toEqual(before);
  });

  test('omits a delivery that was reopened', async () => {
    const [first] = (await stored(['short']))['event_deliveries'] ?? [];
    await database.query("update event_deliveries set status = 'Scheduled' where id = $1", [first.id]);
    await removeShort();
    const left = await stored(['short']);
    expect(left['event_deliveries']?.map((row) => row.id)).toEqual([first.id]);
    expect(left['delivery_attempts']).toHaveLength(2);
    // And the event that it needs.
    expect(left['events']?.map((row) => row.id)).toEqual([first.id]);
    expect((await exported())['event_deliveries']?.map((row) => row.id)).not.toContain(first.id);
  });
});
