import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { StartupError } from '../../src/platform/startup-error.ts';
import { needs } from '../support/suite/parts.ts';
import { isRoot, NOBODY, query, start, startNode, temporaryDirectory, untilDead } from './support.ts';

it('creates a database on the first start and keeps its data over a restart', async () => {
  const dataDir = path.join(temporaryDirectory(), 'below', 'data');
  const first = await start(dataDir);
  await query(first.connection, `CREATE TABLE kept AS SELECT 'Größe 🐘' AS word`);
  await first.stop();
  await first.stop();
  await expect(query(first.connection, 'SELECT 1')).rejects.toThrow();

  const second = await start(dataDir);
  expect(await query(second.connection, 'SELECT word FROM kept')).toEqual([['Größe 🐘']]);
  expect(first.logged[0]?.fields).toMatchObject({ cluster: 'made' });
  expect(second.logged[0]?.fields).toMatchObject({ cluster: 'found' });
});

it('runs durably, with checksums, without TCP, and with the settings it is given', async () => {
  const dataDir = temporaryDirectory();
  const server = await start(dataDir, { max_connections: '17', wal_level: 'logical' });
  const setting = async (name: string): Promise<unknown> =>
    (await query(server.connection, `SHOW ${name}`))[0]?.[0];
  for (const [name, value] of Object.entries({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    data_checksums: 'on',
    listen_addresses: '',
    server_encoding: 'UTF8',
    max_connections: '17',
    wal_level: 'logical',
  })) {
    expect([name, await setting(name)]).toEqual([name, value]);
  }
  expect(
    await query(server.connection, `SELECT lower('ÄB'), 'a' < 'Z', current_user, current_database()`),
  ).toEqual([['äb', false, 'posthorn', 'posthorn']]);
  expect(statSync(server.connection.host).mode & 0o777).toBe(0o700);
});

it('accepts a data directory whose name has spaces, commas, quotes and non-ASCII letters', async () => {
  const server = await start(path.join(temporaryDirectory(), `a "b", 'c' $d ü`));
  expect(await query(server.connection, 'SELECT 1')).toEqual([[1]]);
});

it('keeps serving when the terminal interrupts the process group of its node', async () => {
  const node = await startNode(temporaryDirectory());
  process.kill(-node.said.pid, 'SIGINT');
  expect(await query(node.said.connection, 'SELECT 1')).toEqual([[1]]);
});

it('ends its server when it exits without stopping it', async () => {
  const dataDir = temporaryDirectory();
  const node = await startNode(dataDir, { exits: true });
  await untilDead(node.said.serverPid);
  expect(log(dataDir).trimEnd()).toMatch(/database system is shut down$/);
});

it('rotates its log when it is large, and keeps the previous one', async () => {
  const dataDir = temporaryDirectory();
  writeFileSync(path.join(dataDir, 'postgres.log'), 'old');
  truncateSync(path.join(dataDir, 'postgres.log'), 11 * 1024 * 1024);
  await start(dataDir);
  expect(statSync(path.join(dataDir, 'postgres.log.1')).size).toBe(11 * 1024 * 1024);
  expect(log(dataDir)).toMatch(/ready to accept connections/);
});

it('reports in one line why the server did not start, and unlocks the directory', async () => {
  const dataDir = temporaryDirectory();
  const failure = await start(dataDir, { shared_buffers: 'plenty' }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartupError);
  expect((failure as Error).message).toMatch(/invalid value for parameter "shared_buffers".*postgres\.log$/);
  expect((failure as Error).message).not.toContain('\n');
  const server = await start(dataDir);
  expect(await query(server.connection, 'SELECT 1')).toEqual([[1]]);
});

it('refuses a data directory that is a file or below one', async () => {
  const file = path.join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  for (const dataDir of [file, path.join(file, 'below')]) {
    const failure = await start(dataDir).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartupError);
    expect((failure as Error).message).toMatch(/^cannot use data directory .*POSTHORN_DATA_DIR/);
  }
});

it('refuses a cluster of another PostgreSQL version and a directory that is not a cluster', async () => {
  const dataDir = temporaryDirectory();
  const cluster = path.join(dataDir, 'postgres');
  mkdirSync(cluster);
  if (isRoot) chmodSync(cluster, 0o700);
  writeFileSync(path.join(cluster, 'something'), '');
  await expect(start(dataDir)).rejects.toThrow(/neither empty nor a PostgreSQL cluster/);

  writeFileSync(path.join(cluster, 'PG_VERSION'), '17\n');
  await expect(start(dataDir)).rejects.toThrow(
    /made by PostgreSQL 17 and this is PostgreSQL 18.*posthorn upgrade/,
  );
  expect(readdirSync(cluster).sort()).toEqual(['PG_VERSION', 'something']);
});

it('removes the leftovers of an interrupted first start', async () => {
  const dataDir = temporaryDirectory();
  mkdirSync(path.join(dataDir, 'postgres.new-abc', 'base'), { recursive: true });
  await start(dataDir);
  expect(readdirSync(dataDir).filter((name) => name.startsWith('postgres.'))).toEqual(['postgres.log']);
});

it('refuses, as an ordinary user, a data directory that user may not write', needs('root'), async () => {
  const node = await startNode(temporaryDirectory(), { as: NOBODY });
  expect(node.said.error).toMatch(/^cannot use data directory .*permission denied.*POSTHORN_DATA_DIR/);
});

function log(dataDir: string): string {
  return readFileSync(path.join(dataDir, 'postgres.log'), 'utf8');
}
