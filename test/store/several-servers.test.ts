import { expect, inject, onTestFinished, test } from 'vitest';
import { connectForCopy } from '../../src/store/backup/connect-for-copy.ts';
import { Database } from '../../src/store/database/database.ts';
import { isConnectionError, isUndone } from '../../src/store/database/pg-errors.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';
import { listenTcp } from '../support/servers/loopback-server.ts';

/** The server of the tests among hosts that are down, silent or read only. test/failover has standbys. */
const database = await createTestDatabase();
const { host, port, user } = inject('postgres');

function urlOf(hosts: [string, number][], parameters = 'target_session_attrs=read-write'): string {
  const names = hosts.map(([name]) => encodeURIComponent(name)).join(',');
  const ports = hosts.map(([, number]) => number).join(',');
  return `postgres://${user}:hidden@/${database.name}?host=${names}&port=${ports}&${parameters}`;
}

function open(url: string): Database {
  const db = new Database({ connection: { connectionString: url }, connections: 6, log: quietLog });
  onTestFinished(() => db.close());
  return db;
}

/** Accepts connections and says nothing. */
async function silentPort(): Promise<number> {
  const server = await listenTcp(() => {});
  onTestFinished(() => server.close());
  return server.port;
}

const closedPort = freePort;
const connectionsTo = async (of: TestDatabase) =>
  (
    await of.query(
      'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
  ).length;

test('every kind of connection finds the host that takes writes', async () => {
  const url = urlOf([
    ['127.0.0.1', await closedPort()],
    ['127.0.0.1', await silentPort()],
    [host, port],
  ]);
  const db = open(url);
  const one = [{ one: 1 }];
  expect(await db.problem()).toBe(null);
  expect(await db.query('select 1 as one')).toEqual(one);
  expect(await db.hot('one', 'select 1 as one', [])).toEqual(one);
  expect(await db.beat('one', 'select 1 as one', [])).toEqual(one);
  expect(await db.transaction((tx) => tx.query('select 1 as one'))).toEqual(one);
  // The settings of a pool hold behind the look at the server.
  expect(await db.hot('setting', 'show plan_cache_mode', [])).toEqual([
    { plan_cache_mode: 'force_generic_plan' },
  ]);
  const session = await db.dedicated();
  expect((await session.query('select 1 as one')).rows).toEqual(one);
  await session.end();
  const { client, db: copy } = await connectForCopy({ connectionString: url });
  expect(await copy.query('select 1 as one')).toEqual(one);
  await client.end();
  await db.close();
  expect(await connectionsTo(database)).toBe(0);
});

test('without a usable host every host is named with its reason, and no password', async () => {
  const closed = await closedPort();
  const silent = await silentPort();
  const readOnly = `target_session_attrs=primary&options=-c%20default_transaction_read_only%3Don`;
  const url = urlOf(
    [
      ['127.0.0.1', closed],
      ['127.0.0.1', silent],
      [host, port],
    ],
    readOnly,
  );
  const db = open(url);
  const failures = await Promise.all(
    [db.query('select 1'), db.dedicated(), connectForCopy({ connectionString: url })].map((asked) =>
      asked.then(
        () => new Error('connected'),
        (error: Error) => error,
      ),
    ),
  );
  const expected = `no server of the database takes writes (127.0.0.1:${closed}: connect ECONNREFUSED 127.0.0.1:${closed}; 127.0.0.1:${silent}: no answer within 2 s; ${host}:${port}: is read only)`;
  expect(failures.map(({ message }) => message)).toEqual([
    expected,
    expected,
    `the database cannot be used: ${expected}`,
  ]);
  expect([isConnectionError(failures[0]), isUndone(failures[0])]).toEqual([true, true]);
  expect(await db.problem()).toBe(expected);
});

test('one host is connected to as before: no look, and no further connection', async () => {
  const db = open(database.url);
  await db.query('select 1');
  const sessions = await database.query(
    'select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  expect(sessions).toEqual([{ query: 'select 1' }]);
});

test('a connection is not handed out before the server behind it is known to take writes', async () => {
  const db = open(urlOf([[host, port]]));
  // The look at the server keeps its session, which takes writes. The pool for hot statements has no connection yet.
  await db.query('select 1');
  await database.query(`alter database ${database.name} set default_transaction_read_only = on`);
  onTestFinished(
    async () =>
      void (await database.query(`alter database ${database.name} reset default_transaction_read_only`)),
  );
  await expect(db.hot('one', 'select 1 as one', [])).rejects.toThrow(`${host}:${port} is read only`);
});
