import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, inject, onTestFinished, test } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { isConnectionError } from '../../src/store/database/pg-errors.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { Program } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';
import { StandbyPair } from './standby-pair.ts';

/** Longer than the looks of a process at the servers stay valid. */
const PAUSE_MS = 7_000;

async function startPair(): Promise<StandbyPair> {
  // The old primary goes on committing alone: only the nodes can keep their writes from it.
  const pair = await StandbyPair.start({ isSynchronous: false });
  onTestFinished(() => pair.stop());
  await pair.primary.query('create table written (n int)');
  await pair.primary.query('create role plain login');
  await pair.primary.query('grant all on written to plain');
  await eventually(
    () => pair.standby.query<{ n: number }>("select 1 as n from pg_roles where rolname = 'plain'"),
    { length: 1 },
  );
  return pair;
}

const rowsOf = async (server: StandbyPair['primary']) =>
  (await server.query<{ n: number }>('select n from written order by n')).map(({ n }) => n);

test('a promotion cuts open transactions and sessions of the old primary, which still runs', async () => {
  const pair = await startPair();
  const { log, lines } = linesOf('warn');
  // A role without rights can tell timelines.
  const connection = { connectionString: pair.url.replace('posthorn@', 'plain@') };
  const db = new Database({ connection, connections: 6, log });
  onTestFinished(() => db.close());
  await db.query('insert into written values (1)');
  const session = await db.dedicated();
  const isCut = new Promise((resolve) => session.once('end', resolve));
  const isBegun = Promise.withResolvers<void>();
  const open = db.transaction(async (tx) => {
    await tx.query('insert into written values (2)');
    isBegun.resolve();
    await isCut;
    await tx.query('insert into written values (3)');
  });
  await isBegun.promise;
  await eventually(() => rowsOf(pair.standby), { length: 1 });
  await pair.promote();
  const failure = await open.catch((error: unknown) => error);
  expect([isConnectionError(failure), (failure as Error).message]).toEqual([
    true,
    expect.stringMatching(/Connection terminated|not queryable|connection error/),
  ]);
  await db.query('insert into written values (4)');
  expect(await rowsOf(pair.standby)).toEqual([1, 4]);
  expect(await rowsOf(pair.primary)).toEqual([1]);
  expect(lines().map(({ msg }) => msg as string)).toContain('the database has moved to another server');

  // The new primary goes too: the old one, which would take the write, stays unused.
  await pair.standby.kill();
  const refused = await eventually(
    () => db.query('insert into written values (5)').then(String, (error: Error) => error.message),
    /is an old primary.*(ENOENT|ECONNREFUSED)/,
  );
  expect(refused).toMatch(
    /^no server of the database takes writes \(127\.0\.0\.1:\d+: is an old primary: its timeline is 1, and 2 was seen; .*(ENOENT|ECONNREFUSED).*\)$/,
  );
  expect(await rowsOf(pair.primary)).toEqual([1]);
});

test('servers of different clusters are refused in either order', async () => {
  const pair = await startPair();
  const { host, port } = inject('postgres');
  const other = encodeURIComponent(host);
  const problems = [`127.0.0.1,${other}`, `${other},127.0.0.1`].map(async (hosts, n) => {
    const ports = n === 0 ? `${pair.relay.port},${port}` : `${port},${pair.relay.port}`;
    const connectionString = `postgres://posthorn@/posthorn?host=${hosts}&port=${ports}`;
    const db = new Database({ connection: { connectionString }, connections: 4, log: quietLog });
    onTestFinished(() => db.close());
    return db.problem();
  });
  for (const problem of await Promise.all(problems))
    expect(problem).toMatch(
      /takes writes \(\S+: belongs to cluster \d+, and another one to another; \S+: belongs to cluster \d+, and/,
    );
});

test('a process that stood still during a promotion writes nothing to the old primary when it goes on', async () => {
  const pair = await startPair();
  const script = join(import.meta.dirname, 'paused-writer.ts');
  const writer = new Program({ command: [process.execPath, script, pair.url] });
  onTestFinished(() => writer.kill());
  const written = () => writer.stdout.split('\n').length;
  await eventually(written, atLeast(21));
  writer.signal('SIGSTOP');
  await pair.promote();
  await pause(PAUSE_MS);
  const before = await rowsOf(pair.primary);
  const whenStopped = written();
  writer.signal('SIGCONT');
  await eventually(written, (count) => count > whenStopped + 20);
  expect(await rowsOf(pair.primary)).toEqual(before);
  expect((await rowsOf(pair.standby)).length).toBeGreaterThan(whenStopped);
});
