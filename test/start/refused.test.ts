import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runPosthorn } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';
import { listenTcp } from '../support/servers/loopback-server.ts';
import { serve } from '../support/servers/serve.ts';
import { startTransactionPooler } from '../support/servers/transaction-pooler.ts';
import { oldPostgres } from './old-postgres.ts';

/** Starts that cannot succeed: exit code 1, one line that says what to do, and nothing left behind. */
const SECRET_KEY = 'thirty-two characters or even more';
const isRoot = process.geteuid?.() === 0;

/** The line it is refused with. */
async function refusal(env: Record<string, string>, command = 'serve'): Promise<string> {
  const { code, stdout, stderr } = await runPosthorn([command], { env });
  expect([code, stdout]).toEqual([1, '']);
  const [line = '', ...rest] = stderr.split('\n');
  expect(rest).toEqual(['']);
  expect(line.startsWith('posthorn: ')).toBe(true);
  return line.slice('posthorn: '.length);
}

describe('a start is refused', () => {
  test('if the database is lost on the way, in one line', async () => {
    const database = await createTestDatabase({ empty: true });
    onTestFinished(() => database.stop());
    const relay = await startDatabaseRelay();
    onTestFinished(() => relay.close());
    relay.loseAnswersTo('create table projects');
    const program = serve({
      DATABASE_URL: relay.urlOf(database.name),
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_DATA_DIR: temporaryFolder(),
    });
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.stderr).toBe(
      'posthorn: the start failed, because the database cannot be reached: Connection terminated unexpectedly\n',
    );
  });

  test('if the port is in use, before anything is created', async () => {
    const { port, close } = await listenTcp(() => {});
    onTestFinished(close);
    const dataDir = join(temporaryFolder(), 'data');
    const line = await refusal({ POSTHORN_PORT: String(port), POSTHORN_DATA_DIR: dataDir });
    expect(line).toBe(`127.0.0.1:${port} is in use by another program; set POSTHORN_PORT to a free port`);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('if the address is not one of this machine', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const env = { POSTHORN_HOST: '192.0.2.1', POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir };
    expect(await refusal(env)).toMatch(/^192\.0\.2\.1:0 cannot be used: .*EADDRNOTAVAIL/);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('if the data directory is a file, which does not change', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, 'mine');
    const line = await refusal({ POSTHORN_PORT: '0', POSTHORN_DATA_DIR: file });
    expect(line).toMatch(/data directory .*\/file.*(EEXIST|ENOTDIR).*POSTHORN_DATA_DIR/);
  });

  test('if the data directory is not writable', async () => {
    // Even root may make nothing below this one.
    const dataDir = isRoot ? '/proc/1/fdinfo' : temporaryFolder();
    if (!isRoot) chmodSync(dataDir, 0o500);
    const line = await refusal({ POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir });
    expect(line).toContain(dataDir);
    expect(line).toContain('POSTHORN_DATA_DIR');
  });

  test('if another node uses the data directory, and that node keeps running', async () => {
    const dataDir = temporaryFolder();
    const env = { POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir };
    const first = serve(env);
    const url = await first.ready();
    expect(await refusal(env)).toContain(`is in use by another Posthorn (pid ${first.pid})`);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  test.each(['127.0.0.1', 'localhost'])('if no server listens at DATABASE_URL (%s)', async (host) => {
    const closed = await listenTcp(() => {});
    await closed.close();
    const dataDir = join(temporaryFolder(), 'data');
    const line = await refusal({
      DATABASE_URL: `postgres://user:hidden@${host}:${closed.port}/db`,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_PORT: '0',
      POSTHORN_DATA_DIR: dataDir,
    });
    expect(line).toMatch(/^the database at DATABASE_URL cannot be used: .*ECONNREFUSED/);
    expect(line).not.toContain('hidden');
    expect(existsSync(dataDir)).toBe(false);
  });

  test('if the database of DATABASE_URL does not exist', async () => {
    const database = await createTestDatabase({ empty: true });
    const { url, name } = database;
    await database.stop();
    const dataDir = join(temporaryFolder(), 'data');
    const env = { DATABASE_URL: url, POSTHORN_SECRET_KEY: SECRET_KEY, POSTHORN_DATA_DIR: dataDir };
    expect(await refusal({ ...env, POSTHORN_PORT: '0' })).toBe(
      `the database at DATABASE_URL cannot be used: database "${name}" does not exist`,
    );
  });

  test('if the server is older than PostgreSQL 15', async () => {
    const server = await oldPostgres('14.11', 140_011);
    onTestFinished(() => server.close());
    const dataDir = join(temporaryFolder(), 'data');
    const line = await refusal({
      DATABASE_URL: `postgres://user@127.0.0.1:${server.port}/db`,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_PORT: '0',
      POSTHORN_DATA_DIR: dataDir,
    });
    expect(line).toBe('the database is PostgreSQL 14.11; Posthorn needs 15 or newer');
    expect(existsSync(join(dataDir, 'credentials.json'))).toBe(false);
  });

  test.each(['next', 'last'] as const)(
    'behind a pooler that gives each transaction the %s free session',
    async (choice) => {
      const database = await createTestDatabase();
      onTestFinished(() => database.stop());
      const pooler = await startTransactionPooler(choice);
      onTestFinished(() => pooler.close());
      const env = { DATABASE_URL: pooler.urlOf(database.name), POSTHORN_SECRET_KEY: SECRET_KEY };
      const dataDir = join(temporaryFolder(), 'data');
      const line = await refusal({ ...env, POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir });
      expect(line).toBe(
        'the database is behind a pooler that gives each transaction another session: set the pooler to session mode (pgbouncer: pool_mode = session), or connect to the server itself',
      );
      expect(existsSync(join(dataDir, 'credentials.json'))).toBe(false);
      const doctor = await runPosthorn(['doctor'], { env: { ...env, POSTHORN_DATA_DIR: dataDir } });
      expect(doctor.stdout).toContain('set the pooler to session mode');
    },
  );

  test('if an unreleased build created the database', async () => {
    const database = await createTestDatabase({ empty: true });
    onTestFinished(() => database.stop());
    await database.query(
      "create table schema_migrations (name text primary key, needs text); insert into schema_migrations values ('0001_initial.sql', null), ('0017_rate_leases.sql', '0017')",
    );
    const dataDir = join(temporaryFolder(), 'data');
    const env = { DATABASE_URL: database.url, POSTHORN_SECRET_KEY: SECRET_KEY, POSTHORN_PORT: '0' };
    for (const command of ['serve', 'migrate', 'reseal'])
      expect(await refusal({ ...env, POSTHORN_DATA_DIR: dataDir }, command)).toMatch(
        /^the database was made by an unreleased build of Posthorn \(migration 0001_initial\.sql\), and this version cannot use it: .*start with a new database$/,
      );
    expect(existsSync(dataDir)).toBe(false);
  });

  test('with DATABASE_URL but no secret key', async () => {
    const line = await refusal({ DATABASE_URL: 'postgres://127.0.0.1/db', POSTHORN_PORT: '0' });
    expect(line).toMatch(/DATABASE_URL also needs POSTHORN_SECRET_KEY.*openssl rand -base64 32/);
  });

  test('with a setting that does not exist', async () => {
    expect(await refusal({ POSTHORN_PROT: '5005' })).toMatch(/^unknown setting POSTHORN_PROT;/);
  });

  test.each([
    ['POSTHORN_CA_FILE', 'missing', null],
    ['POSTHORN_CA_FILE', 'no certificate', 'not a certificate'],
    ['POSTHORN_DATABASE_CA_FILE', 'missing', null],
  ])('with a %s that is %s, before anything is created', async (setting, _, content) => {
    const directory = temporaryFolder();
    const file = join(directory, 'ca.pem');
    if (content !== null) writeFileSync(file, content);
    const dataDir = join(directory, 'data');
    const line = await refusal({
      DATABASE_URL: 'postgres://127.0.0.1:1/db',
      POSTHORN_SECRET_KEY: SECRET_KEY,
      [setting]: file,
      POSTHORN_PORT: '0',
      POSTHORN_DATA_DIR: dataDir,
    });
    expect(line).toMatch(new RegExp(`^${setting} cannot be read: `));
    expect(existsSync(dataDir)).toBe(false);
  });

  test('on a first start that cannot write the credentials, and the next one still creates them', async () => {
    const database = await createTestDatabase({ empty: true });
    onTestFinished(() => database.stop());
    const dataDir = temporaryFolder();
    const env = {
      DATABASE_URL: database.url,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_PORT: '0',
      POSTHORN_LOG_LEVEL: 'silent',
    };
    const line = await refusal({ ...env, POSTHORN_DATA_DIR: isRoot ? '/proc/1/fdinfo' : '/' });
    expect(line).toMatch(/credentials\.json cannot be written.*POSTHORN_DATA_DIR/);
    expect(await database.query('select count(*)::int as projects from projects')).toEqual([{ projects: 0 }]);

    const program = serve({ ...env, POSTHORN_DATA_DIR: dataDir });
    await program.ready();
    expect(readdirSync(dataDir)).toEqual(['credentials.json']);
  });

  test.each([
    [['nonsense'], 'there is no command "nonsense"; posthorn help lists them'],
    [['toString'], 'there is no command "toString"; posthorn help lists them'],
    [['triger', 'a.b'], 'there is no command "triger"; did you mean posthorn trigger?'],
    [['project'], '"project" alone is no command; "project" has: create, move'],
    [['person', 'crate'], 'there is no command "person crate"; did you mean posthorn person create?'],
    [['send-now', '01KA3'], 'there is no command "send-now"; did you mean posthorn deliveries send-now?'],
    [
      ['deliverys', 'send-nwo'],
      'there is no command "deliverys"; did you mean posthorn deliveries send-now?',
    ],
    [['endpoint'], 'there is no command "endpoint"; did you mean posthorn endpoints?'],
    [['deliveries', 'retry'], 'there is no command "deliveries retry"; did you mean posthorn retry?'],
    [
      ['pause'],
      'there is no command "pause"; did you mean posthorn endpoints pause or posthorn sources pause?',
    ],
    [['person', 'nonsense'], 'there is no command "person nonsense"; "person" has: create, reset'],
    [['serve', '--port', '1'], /Unknown option '--port'.*Usage: posthorn serve$/],
  ])('as %j, which is not a command', async (args, expected) => {
    const { code, stdout, stderr } = await runPosthorn(args);
    expect([code, stdout]).toEqual([64, '']);
    const [, line = ''] = /^posthorn: (.*)\n$/.exec(stderr) ?? [];
    if (typeof expected === 'string') expect(line).toBe(expected);
    else expect(line).toMatch(expected);
  });
});
