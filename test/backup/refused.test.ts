import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeBackup } from '../../src/store/backup/write-backup.ts';
import { startTestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { isAlive, Program } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { shared } from '../support/shared.ts';
import { refusal, run, tablesOf } from './command.ts';

/** Refusals of restore and backup. They leave nothing behind. */
/** A restore makes a whole cluster, which takes a while on a busy machine. */
const RESTORE_MS = 120_000;
const KEY = 'a secret key for tests only, 32+ characters';
const app = await shared(startTestApp());
const folder = temporaryFolder(afterAll);
let file: string;
let good: Buffer;
let atUrl: Record<string, string>;

beforeAll(async () => {
  await app.project.post('/events/broadcast', { event_type: 'one', data: { is: 'stored' } });
  // A partition past its retention that has been detached and is not dropped yet.
  await app.database.query('create table events_2020010100 (like events)');
  file = join(folder, 'good.gz');
  atUrl = { DATABASE_URL: app.database.url, POSTHORN_SECRET_KEY: KEY, POSTHORN_DATA_DIR: folder };
  const program = new Program({ args: ['backup', file], env: atUrl });
  expect((await program.ended).code, program.stderr).toBe(0);
  expect(program.stdout).toContain('A restore also needs POSTHORN_SECRET_KEY');
  good = readFileSync(file);
});

/** The backup with other lines, and the hash that belongs to them. */
function changed(change: (text: string) => string): Buffer {
  const text = gunzipSync(good).toString();
  const trailer = text.lastIndexOf('{"rows"');
  const lines = change(text.slice(0, trailer));
  const sha256 = createHash('sha256').update(lines).digest('hex');
  return gzipSync(lines + text.slice(trailer).replace(/"sha256":"\w+"/, `"sha256":"${sha256}"`));
}

interface Refused {
  line: string;
  /** The content of the data directory afterwards. Null: it was not created. */
  left: string[] | null;
}

async function restoreOf(bytes: Buffer, env: Record<string, string> = {}): Promise<Refused> {
  const directory = temporaryFolder();
  const dataDir = join(directory, 'data');
  const path = join(directory, 'backup.gz');
  writeFileSync(path, bytes);
  const line = await refusal(['restore', path], {
    POSTHORN_SECRET_KEY: KEY,
    POSTHORN_DATA_DIR: dataDir,
    ...env,
  });
  const names = existsSync(dataDir) ? readdirSync(dataDir) : null;
  return {
    line: line.replaceAll(directory, ''),
    left: names?.filter((name) => !name.startsWith('lock')) ?? null,
  };
}

describe('a restore is refused, and creates no data directory,', () => {
  test('if the file is not a backup', async () => {
    const line = '/backup.gz is damaged, or not a backup of Posthorn';
    expect(await restoreOf(Buffer.from('hello'))).toEqual({ line, left: null });
    expect(await restoreOf(gzipSync('hello\n'))).toEqual({
      line: 'this is not a backup of Posthorn',
      left: null,
    });
    expect(await restoreOf(Buffer.alloc(0))).toMatchObject({ left: null });
  });

  test('if there is no file', async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const line = await refusal(['restore', join(folder, 'none')], { POSTHORN_DATA_DIR: dataDir });
    expect(line).toMatch(/none cannot be read: ENOENT/);
    expect(await refusal(['restore'], {})).toBe('FILE is missing. Usage: posthorn restore FILE');
    expect(await refusal(['restore', 'a', 'b'], {})).toMatch(
      /Unexpected argument 'b'.*Usage: posthorn restore/,
    );
  });

  test('if its schema is newer', async () => {
    const newer = changed((text) => text.replace('"schema":[', '"schema":["9999_future.sql",'));
    const { line, left } = await restoreOf(newer);
    expect(line).toMatch(
      /^the backup was made by Posthorn \S+ with a newer schema \(9999_future\.sql; this one knows up to \d{4}_\w+\.sql\): update Posthorn$/,
    );
    expect(left).toBeNull();
  });

  test('if an unreleased build wrote it', async () => {
    const old = changed((text) => text.replace(/"schema":\[[^\]]*\]/, '"schema":["0001_initial.sql"]'));
    expect(await restoreOf(old)).toEqual({
      line: 'the backup was made by an unreleased build of Posthorn (migration 0001_initial.sql): only that build can restore it',
      left: null,
    });
  });

  test('if the key is wrong or missing', async () => {
    const other = await restoreOf(good, { POSTHORN_SECRET_KEY: `${KEY} and another` });
    expect(other.line).toMatch(/^POSTHORN_SECRET_KEY is not the key of this backup \(fingerprint \w{16}, /);
    const none = await restoreOf(good, { POSTHORN_SECRET_KEY: '' });
    expect(none.line).toMatch(
      /^the backup does not contain its secret key \(fingerprint \w{16}\): put secret\.key into \/data or set/,
    );
    expect([other.left, none.left]).toEqual([null, null]);
  });
});

describe('a restore that fails in the middle leaves no database', { timeout: RESTORE_MS }, () => {
  test('if the file is truncated', async () => {
    const line = 'the backup is damaged (it ends too early): use another one';
    expect(await restoreOf(good.subarray(0, good.length - 20))).toEqual({ line, left: [] });
  });
});

test('a restore into a data directory with anything in it is refused and touches nothing', async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'postgres'));
  const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_SECRET_KEY: KEY };
  expect(await refusal(['restore', file], env)).toBe(
    `${dataDir} is not empty (postgres): a backup is restored into a new data directory; set POSTHORN_DATA_DIR to one`,
  );
  expect(readdirSync(join(dataDir, 'postgres'))).toEqual([]);
});

test('the next restore removes the leftovers of a killed one, its server included', {
  timeout: RESTORE_MS,
}, async () => {
  const directory = temporaryFolder();
  const dataDir = join(directory, 'data');
  const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_SECRET_KEY: KEY };
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const first = new Program({ args: ['restore', pipe], env });
  onTestFinished(() => first.end());
  const feed = createWriteStream(pipe);
  // Half of it, and then no more.
  feed.write(gzipSync(gunzipSync(good).subarray(0, -2_000)).subarray(0, -8));
  const serverPid = await eventually(async () => pidIn(dataDir), atLeast(1));
  await first.kill();
  feed.destroy();
  expect(isAlive(serverPid)).toBe(true);
  expect(readdirSync(dataDir)).not.toContain('postgres');

  await run(['restore', file], env);
  expect(isAlive(serverPid)).toBe(false);
  expect(readdirSync(dataDir).filter((name) => !name.startsWith('lock'))).toEqual(['postgres']);
});

/** The pid of the server of a restore under way; 0: not there yet. */
function pidIn(dataDir: string): number {
  if (!existsSync(dataDir)) return 0;
  const room = readdirSync(dataDir).find((name) => name.startsWith('postgres.new-')) ?? '';
  const file = join(dataDir, room, 'postgres/postmaster.pid');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0;
}

describe('with DATABASE_URL', { timeout: RESTORE_MS }, () => {
  test('a backup is restored into an empty database, and into no other', async () => {
    const empty = await createTestDatabase({ empty: true });
    onTestFinished(() => empty.stop());
    const env = { ...atUrl, DATABASE_URL: empty.url };
    await run(['restore', file], env);
    const again = join(temporaryFolder(), 'again.gz');
    await run(['backup', again], env);
    expect(tablesOf(again)).toEqual(tablesOf(file));
    expect(tablesOf(again)['events']).toHaveLength(1);
    expect(await refusal(['restore', file], env)).toBe(
      'the database is not empty: a backup is restored into a new database only',
    );
  });

  test('a damaged backup leaves the database empty, for damage at any place', async () => {
    const empty = await createTestDatabase({ empty: true });
    onTestFinished(() => empty.stop());
    const text = gunzipSync(good).toString();
    const columns = changed((lines) => lines.replace(/^(\{"table":"events".*\n)/m, '$1not enough columns\n'));
    const cases: [Buffer, RegExp][] = [
      [good.subarray(0, good.length - 20), /^the backup is damaged \(it ends too early\): use another one$/],
      [gzipSync(text.replace('\tone\t', '\ttwo\t')), /\(its checksum is wrong\)/],
      [columns, /\(missing data for column .*\)/],
    ];
    for (const [bytes, expected] of cases) {
      expect((await restoreOf(bytes, { DATABASE_URL: empty.url })).line).toMatch(expected);
      const tables = "select 1 from pg_class where relnamespace = 'public'::regnamespace";
      expect(await empty.query(tables)).toEqual([]);
    }
  });

  test('a backup of a database without our schema is refused', async () => {
    const empty = await createTestDatabase({ empty: true });
    onTestFinished(() => empty.stop());
    const target = join(temporaryFolder(), 'x.gz');
    expect(await refusal(['backup', target], { ...atUrl, DATABASE_URL: empty.url })).toBe(
      'the database has no schema of Posthorn: there is nothing to back up',
    );
    expect(existsSync(target)).toBe(false);
  });

  test('a backup that is stopped leaves no file', async () => {
    const directory = temporaryFolder();
    await app.database.query('begin; lock table subscriptions');
    const program = new Program({ args: ['backup', directory], env: atUrl });
    onTestFinished(() => program.end());
    // Asked on another connection: a transaction sees the sessions as they were when it first looked.
    await eventually(
      () =>
        app.app.db.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
             and query like 'copy %'`,
        ),
      { length: atLeast(1) },
    );
    program.signal('SIGTERM');
    await app.database.query('commit');
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.stderr).toBe('posthorn: ended by SIGTERM; nothing was changed\n');
    expect(readdirSync(directory)).toEqual([]);
  });
});

test('a backup is refused without a target and without a database', async () => {
  const nowhere = join(temporaryFolder(), 'none', 'file.gz');
  expect(await refusal(['backup', nowhere], atUrl)).toMatch(/file\.gz cannot be written: ENOENT/);
  expect(await refusal(['backup'], atUrl)).toMatch(/^FILE is missing\. Usage: posthorn backup/);
  const dataDir = temporaryFolder();
  const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_SECRET_KEY: KEY };
  expect(await refusal(['backup', nowhere], env)).toMatch(
    /^there is no database in .*; set POSTHORN_DATA_DIR/,
  );
  expect(await refusal(['backup', nowhere], { POSTHORN_DATA_DIR: dataDir })).toMatch(
    /^there is no secret\.key in /,
  );
  expect(readdirSync(dataDir)).toEqual([]);
});

test('events are accepted during a backup, and it contains none of them', async () => {
  const accept = async () => {
    for (let i = 0; i < 5; i += 1)
      await app.project.post('/events/broadcast', { event_type: 'two', data: { i } });
  };
  const lines = writeBackup({ connectionString: app.database.url }, { key_fingerprint: '', files: {} });
  await lines.next();
  await accept();
  // As far as the first table after the events.
  let read = '';
  while (!read.includes('"table":"expansions"'))
    read += String((await lines.next()).value ?? expect.fail('the backup ended'));
  expect(read).toContain('\tone\t');
  expect(read).not.toContain('\ttwo\t');
  const locks = await app.database.query(
    // The backup has the oldest transaction.
    `select distinct mode from pg_locks where relation = 'events'::regclass and pid = (
       select pid from pg_stat_activity where datname = current_database() order by xact_start limit 1)`,
  );
  expect(locks).toEqual([{ mode: 'AccessShareLock' }]);
  await accept();
  await lines.return(undefined);
});
