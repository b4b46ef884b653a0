import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import { Database } from '../../src/store/database/database.ts';
import { detachedPartitions, ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { removePartitions } from '../../src/store/upkeep/remove-partitions.ts';
import { withUpkeepLock } from '../../src/store/upkeep/upkeep-lock.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { atLeast, containing, eventually, some } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { upkeep } from '../support/upkeep.ts';

/**
 * Every wait for a lock on a table of over a millisecond is in the server's log, by log_lock_waits and
 * deadlock_timeout. The janitor's own waits are for stronger locks than these.
 */
const ROW_WAIT = /still waiting for (AccessShare|RowShare|RowExclusive)Lock on relation/;
const DAY_MS = 86_400_000;
const WIDTH_MS = DAY_MS;
const HOT_TABLES = ['events', 'event_deliveries', 'delivery_attempts', 'meta_events'];

const app = await shared(startTestApp({ POSTHORN_ROLES: 'api,ingest,deliver' }));
let client: ApiClient;
const receiver = await shared(Receiver.start());
let endpointId: string;
/** The janitor's connections, which say who they are. */
let db: Database;
let reader: pg.Client;
let databaseOid: number;

beforeAll(async () => {
  const { name } = app.database;
  await app.database.query(`alter database ${name} set log_lock_waits = on`);
  await app.database.query(`alter database ${name} set deadlock_timeout = '1ms'`);
  const node = await app.addNode();
  client = new ApiClient(`${node.url}/api/v1/projects/${app.projectId}`, app.project.key);
  endpointId = (await subscribe(client, receiver.url)).endpoint.uid;
  const [server] = await app.database.query(
    'select oid::int as oid from pg_database where datname = current_database()',
  );
  databaseOid = server?.['oid'] as number;
  db = new Database({
    connection: { connectionString: `${app.database.url}&application_name=janitor` },
    connections: 4,
    log: quietLog,
  });
});

afterAll(async () => {
  await db?.close();
});

beforeEach(async () => {
  reader = await connect();
});

afterEach(async () => {
  await reader.end();
});

async function connect(): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: app.database.url });
  await made.connect();
  return made;
}

/** A read that began before and goes on. */
async function readAll(who: pg.Client, isolation: 'read committed' | 'repeatable read'): Promise<void> {
  await who.query(`begin isolation level ${isolation}`);
  for (const table of HOT_TABLES) await who.query(`select count(*) from ${table}`);
}

/** Sends events one after another on each of four connections, until stopped. */
function acceptEvents(): { accepted(): number; stop(): Promise<void> } {
  let accepted = 0;
  const stop = new AbortController();
  const post = async () => {
    while (!stop.signal.aborted) {
      await client.post('/events', {
        endpoint_id: endpointId,
        event_type: 'a',
        data: { n: accepted },
        idempotency_key: `key ${Math.random()}`,
      });
      accepted += 1;
    }
  };
  const posting = Promise.all([post(), post(), post(), post()]);
  return {
    accepted: () => accepted,
    stop: async () => {
      stop.abort();
      await posting;
    },
  };
}

const more = (events: ReturnType<typeof acceptEvents>, many = 20) => {
  const before = events.accepted();
  return eventually(async () => events.accepted(), atLeast(before + many));
};

/** Waits of statements that read and write rows for locks on tables of this database, since a place in the log. */
async function tableWaits(since: number): Promise<string[]> {
  const text = (await readFile(inject('postgresLog'))).subarray(since).toString();
  return text
    .split('\n')
    .filter((line) => ROW_WAIT.test(line) && line.includes(` of database ${databaseOid} `));
}

const logLength = async () => (await readFile(inject('postgresLog'))).length;

async function makeOld(days: number[]): Promise<string> {
  const now = Date.now();
  for (const age of days) await ensurePartitions(db, now - age * DAY_MS, WIDTH_MS);
  await app.database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     select $1 || lpad(n::text, 16, '0'), $2, 'old', 'Success', false, '{}', '{}', now() from generate_series(1, 50) n`,
    [firstIdAt(now - Math.max(...days) * DAY_MS).slice(0, 10), app.projectId],
  );
  return firstIdAt(now - (Math.min(...days) - 3) * DAY_MS);
}

const leaving = async (below: string) =>
  [...(await partitionBounds(db)), ...(await detachedPartitions(db))].filter(({ to }) => to <= below);

test('partitions come and go behind long reads, and no accept waits for a lock', async () => {
  const below = await makeOld([40, 30]);
  const { length: many } = await leaving(below);
  expect(many).toBeGreaterThan(8);
  await readAll(reader, 'read committed');
  const second = await connect();
  await readAll(second, 'repeatable read');
  const events = acceptEvents();
  await more(events);
  const since = await logLength();
  expect(await ensurePartitions(db, Date.now() + 50 * DAY_MS, WIDTH_MS)).toHaveLength(12);
  await more(events);
  // Each table has one that is half gone, and nothing has been dropped.
  const blocked = await upkeep(db, (options) => removePartitions(options, below), { waitsMs: 2_000 });
  expect(blocked).toMatchObject({ removed: [], waiting: { length: 4 } });
  await more(events);
  // Finishing what was begun waits for the readers too.
  await reader.query('commit');
  const again = await upkeep(db, (options) => removePartitions(options, below), { waitsMs: 2_000 });
  expect(again).toMatchObject({ removed: [], waiting: { length: 4 } });
  await more(events);
  await second.query('commit');
  await second.end();
  const free = await upkeep(db, (options) => removePartitions(options, below));
  expect(free).toMatchObject({ removed: { length: many }, waiting: [] });
  await more(events);
  await events.stop();
  expect(await leaving(below)).toEqual([]);
  expect(await tableWaits(since)).toEqual([]);
});

test('the log shows it: a plain detach behind a long read makes accepts wait', async () => {
  const below = await makeOld([60]);
  const [oldest] = (await leaving(below)).filter(({ table }) => table === 'events');
  await readAll(reader, 'read committed');
  const events = acceptEvents();
  await more(events);
  const since = await logLength();
  const detaching = db.query(`alter table events detach partition ${oldest?.name}`);
  await eventually(() => tableWaits(since), some(containing('RowExclusiveLock')));
  await reader.query('commit');
  await detaching;
  await events.stop();
  await upkeep(db, (options) => removePartitions(options, below));
});

test('the next run finishes a detach whose session was killed', async () => {
  const below = await makeOld([70]);
  await readAll(reader, 'read committed');
  const killed = upkeep(db, (options) => removePartitions(options, below)).catch((error: Error) => error);
  const [session] = await eventually(
    () =>
      app.database.query(
        `select pid from pg_stat_activity where application_name = 'janitor' and query like '%concurrently' and wait_event_type = 'Lock'`,
      ),
    { length: atLeast(1) },
  );
  await app.database.query('select pg_terminate_backend($1)', [session?.['pid']]);
  expect(await killed).toBeInstanceOf(Error);
  const pending = (await partitionBounds(db)).filter(({ state }) => state === 'pending');
  expect(pending).toHaveLength(1);
  await reader.query('commit');
  const result = await upkeep(db, (options) => removePartitions(options, below));
  expect(result).toMatchObject({ waiting: [], exportProblem: null });
  expect(result.removed).toEqual(expect.arrayContaining(pending.map(({ name }) => name)));
  expect(await leaving(below)).toEqual([]);
});

test('the next run drops a table that was detached and not dropped', async () => {
  const below = await makeOld([80]);
  const [oldest] = (await leaving(below)).filter(({ table }) => table === 'events');
  await db.query(`alter table events detach partition ${oldest?.name} concurrently`);
  expect(await detachedPartitions(db)).toMatchObject([{ ...oldest, state: 'detached' }]);
  // Even where nothing else is to go.
  const { removed } = await upkeep(db, (options) => removePartitions(options, ''));
  expect(removed).toEqual([oldest?.name]);
  expect(await detachedPartitions(db)).toEqual([]);
});

test('one that is needed again after the detach is attached again with its rows', async () => {
  const below = await makeOld([90]);
  const [event] = (await client.get('/events?perPage=1&sort=ASC&startDate=2020-01-01T00:00:00'))
    .content as Json[];
  const partition = (await leaving(below)).find(
    ({ table, from, to }) => table === 'events' && from <= event?.uid && event?.uid < to,
  );
  await db.query(`alter table events detach partition ${partition?.name} concurrently`);
  await app.database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     values ($1, $1, $2, 'unknown', 0, now() + interval '1 day')`,
    [event?.uid, app.projectId],
  );
  const { removed } = await upkeep(db, (options) => removePartitions(options, ''));
  expect(removed).toEqual([]);
  expect((await client.get(`/events/${event?.uid}`)).uid).toBe(event?.uid);
  expect((await partitionBounds(db)).find(({ name }) => name === partition?.name)).toEqual(partition);
  await app.database.query('delete from delivery_queue where delivery_id = $1', [event?.uid]);
  await upkeep(db, (options) => removePartitions(options, below));
  await client.get(`/events/${event?.uid}`, 404);
});

test('a node that stops does not wait for a long read', async () => {
  const below = await makeOld([100]);
  await readAll(reader, 'read committed');
  const stop = new AbortController();
  const removing = withUpkeepLock(db, stop.signal, (session) =>
    removePartitions({ db, session, signal: stop.signal, exportDirectory: '' }, below),
  );
  await eventually(() => partitionBounds(db), some({ state: 'pending' }));
  stop.abort();
  // The first one was given up, and no other begun.
  expect(await removing).toMatchObject({ removed: [], waiting: { length: 1 } });
  await reader.query('commit');
  await upkeep(db, (options) => removePartitions(options, below));
  expect(await leaving(below)).toEqual([]);
});

test('upkeep is left to the node with the lock', async () => {
  const { signal } = new AbortController();
  const [other] = await upkeep(db, async () => [
    await withUpkeepLock(db, signal, () => Promise.resolve('done')),
  ]);
  expect(other).toBeNull();
});

test('a partition that is dropped while partitions are listed is left out', async () => {
  const dayMs = DAY_MS * 10_000;
  await app.database.query(
    `create table events_2397000000 partition of events for values from ('${firstIdAt(dayMs)}') to ('${firstIdAt(dayMs + 1)}')`,
  );
  const listed = await db.transaction(async (tx) => {
    // The snapshot stays as it was before the drop, as that of a statement does that began before it.
    await tx.query('set transaction isolation level repeatable read');
    await tx.query('select 1');
    const before = await tx.query<{ name: string }>(
      "select relname as name from pg_class where relname = 'events_2397000000'",
    );
    await app.database.query('drop table events_2397000000');
    return { before, attached: await partitionBounds(tx), detached: await detachedPartitions(tx) };
  });
  expect(listed.before).toEqual([{ name: 'events_2397000000' }]);
  expect(listed.attached.length).toBeGreaterThan(0);
  expect([...listed.attached, ...listed.detached].map(({ name }) => name)).not.toContain('events_2397000000');
});
