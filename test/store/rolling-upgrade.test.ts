import { rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { StartupError } from '../../src/platform/startup-error.ts';
import { Database } from '../../src/store/database/database.ts';
import { listMigrations, migrate } from '../../src/store/upkeep/migrate.ts';
import { startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { EventStream, expectAll } from '../support/event-stream.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { quietLog } from '../support/quiet-log.ts';
import { CONTRACT, EXPAND, newerMigrations, REBUILD } from '../support/samples/made-up-migrations.ts';
import { Receiver } from '../support/servers/receiver.ts';

/**
 * The node of the test is the older one. A newer version would bring a migration that this node does not know, so the
 * test applies one while the node works. test/processes/two-versions.test.ts does the same with real processes.
 */
let app: TestApp;
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  app = await startTestApp();
  await subscribe(app.project, receiver.url);
});

afterEach(async () => {
  await app.stop();
  await receiver.stop();
});

describe('a migration that follows the rules', () => {
  test('rolls back and tries again if a long read locks its tables, so that accepts continue', async () => {
    const directory = newerMigrations({ '9998_expand.sql': EXPAND });
    const reader = new pg.Client({ connectionString: app.database.url });
    await reader.connect();
    await reader.query('begin; select count(*) from events');
    const events = new EventStream(app.project);
    let isDone = false;
    const migrating = migrate(app.app.db, quietLog, directory).finally(() => {
      isDone = true;
    });
    // More than one round of waiting and letting go.
    const waits = async () => {
      await eventually(() => waitingMigrations(), atLeast(1));
      await eventually(() => waitingMigrations(), 0);
    };
    await waits();
    await events.more(5);
    await waits();
    await events.more(5);
    expect(isDone).toBe(false);
    await reader.query('commit');
    await reader.end();
    expect(await migrating).toEqual(['9998_expand.sql']);
    await expectAll({ receiver, database: app.database }, await events.stop());
  });
});

async function waitingMigrations(): Promise<number> {
  const [row] = await app.database.query(
    `select count(*)::int as count from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and query like '-- Locks:%'`,
  );
  return Number(row?.['count']);
}

describe('a migration that removes something', () => {
  test('is refused while a node that uses it is alive, and changes nothing', async () => {
    const directory = newerMigrations({ '9998_expand.sql': EXPAND, '9999_contract.sql': CONTRACT });
    const [node] = await app.database.query('select id, knows from nodes');
    expect(node?.['knows']).toBe((await listMigrations()).at(-1)?.slice(0, 4));
    const failure = await migrate(app.app.db, quietLog, directory).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartupError);
    expect((failure as Error).message).toBe(
      `9999_contract.sql removes something that older nodes use, and 1 of them still run (${String(node?.['id'])}): update them to the version before this one first`,
    );
    const done = await app.database.query("select name, needs from schema_migrations where name >= '9'");
    expect(done).toEqual([{ name: '9998_expand.sql', needs: null }]);
  });

  test('and works with no older version is refused until all nodes are stopped', async () => {
    const directory = newerMigrations({ '9999_rebuild.sql': REBUILD });
    const indexes = () =>
      app.database.query(
        "select 1 from pg_index where indrelid in (select inhrelid from pg_inherits where inhparent = 'events'::regclass) and pg_get_indexdef(indexrelid) ~ '\\(event_type\\)'",
      );
    await expect(migrate(app.app.db, quietLog, directory)).rejects.toThrow(
      /^9999_rebuild\.sql removes something that older nodes use, .*\): stop all of them first$/,
    );
    expect(await indexes()).toEqual([]);
    await app.database.query('delete from nodes');
    expect(await migrate(app.app.db, quietLog, directory)).toEqual(['9999_rebuild.sql']);
    expect((await indexes()).length).toBeGreaterThan(2);
  });

  test('is applied once they have stopped, and they are refused from then on', async () => {
    const directory = newerMigrations({ '9998_expand.sql': EXPAND, '9999_contract.sql': CONTRACT });
    // The node is of the version that did without the column already.
    await app.database.query("update nodes set knows = '9998'");
    expect(await migrate(app.app.db, quietLog, directory)).toEqual(['9998_expand.sql', '9999_contract.sql']);
    const newest = (await listMigrations()).at(-1)?.slice(0, 4);
    await expect(app.addNode()).rejects.toThrow(
      new StartupError(
        `the database's schema is too new for this Posthorn: 9999_contract.sql needs nodes that know migration 9998, and this one knows up to ${newest}; update Posthorn`,
      ),
    );
    // A node that knows enough, but not the migration itself, still starts.
    rmSync(join(directory, '9999_contract.sql'));
    expect(await migrate(app.app.db, quietLog, directory)).toEqual([]);
  });

  test('does not wait for a silent node', async () => {
    const directory = newerMigrations({ '9999_contract.sql': CONTRACT });
    await app.database.query(
      "update nodes set knows = '9998'; insert into nodes (id, roles, seal_keys, knows, beat_at) values ('old', '', '{}', '0001', now() - interval '11 seconds')",
    );
    expect(await migrate(app.app.db, quietLog, directory)).toEqual(['9999_contract.sql']);
  });
});

test('a migration waits a second for its locks and has hours for its work', async () => {
  const limits = ['lock_timeout', 'statement_timeout'].map((name) => `current_setting('${name}') as ${name}`);
  const directory = newerMigrations({
    '9998_limits.sql': `create table limits as select ${limits.join(', ')}`,
  });
  await migrate(app.app.db, quietLog, directory);
  expect(await app.database.query('select * from limits')).toEqual([
    { lock_timeout: '1s', statement_timeout: '6h' },
  ]);
});

test('a node waits for the migration of another without a limit, and logs it', async () => {
  const directory = newerMigrations({ '9998_expand.sql': EXPAND });
  const other = new pg.Client({ connectionString: app.database.url });
  await other.connect();
  await other.query('begin; select pg_advisory_xact_lock(7305501)');
  const { log, lines } = linesOf('warn');
  const migrating = migrate(app.app.db, log, directory);
  const said = await eventually(async () => lines(), { length: 2 });
  const [{ pid }] = (await other.query('select pg_backend_pid() as pid')).rows;
  for (const line of said)
    expect(line).toMatchObject({ pid, msg: expect.stringContaining('waiting for another node') });
  // A statement that waited would end with the 60 seconds that a statement may take.
  const waiting = await app.database.query(
    `select pid from pg_locks l join pg_database d on d.oid = l.database
     where d.datname = current_database() and l.objid = 7305501 and not granted`,
  );
  expect(waiting).toEqual([]);
  await other.query('commit');
  await other.end();
  expect(await migrating).toEqual(['9998_expand.sql']);
});

test('nodes that start together apply each migration once', async () => {
  const directory = newerMigrations({ '9998_expand.sql': EXPAND });
  const others = await Promise.all(Array.from({ length: 4 }, () => migrate(app.app.db, quietLog, directory)));
  expect(others.flat()).toEqual(['9998_expand.sql']);
});

describe('a database with an unknown older migration', () => {
  const OLD_CHAIN = ['0001_initial.sql', '0002_sources_filters_event_types.sql', '0015_keyed_by_project.sql'];

  test.each([
    [
      'without the column for needs',
      'create table schema_migrations (name text primary key, applied_at timestamptz default now())',
    ],
    ['with it', 'create table schema_migrations (name text primary key, needs text)'],
  ])('is refused as created by an unreleased build, and does not change (%s)', async (_, table) => {
    const database = await createTestDatabase({ empty: true });
    onTestFinished(() => database.stop());
    await database.query(table);
    for (const name of OLD_CHAIN)
      await database.query('insert into schema_migrations (name) values ($1)', [name]);
    const db = new Database({
      connection: { connectionString: database.url },
      connections: 1,
      log: quietLog,
    });
    onTestFinished(() => db.close());
    await expect(migrate(db, quietLog)).rejects.toThrow(
      new StartupError(
        'the database was made by an unreleased build of Posthorn (migration 0001_initial.sql), and this version cannot use it: if you need its data, make a backup with that build; then start with a new database',
      ),
    );
    const tables = await database.query(
      "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
    );
    expect(tables).toEqual([{ relname: 'schema_migrations' }]);
  });
});
