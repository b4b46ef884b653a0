import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { copyBinaries, locateBinaries } from '../../src/embedded-postgres/binaries.ts';
import { StartupError } from '../../src/platform/startup-error.ts';
import {
  isAlive,
  isRoot,
  later,
  NOBODY,
  query,
  serverPid,
  start,
  startNode,
  temporaryDirectory,
  untilDead,
} from './support.ts';

it('takes over from a killed node whose server still runs', async () => {
  const dataDir = temporaryDirectory();
  const node = await startNode(dataDir);
  await query(node.said.connection, 'CREATE TABLE kept AS SELECT 1 AS n');
  await node.end('SIGKILL');
  expect(isAlive(node.said.serverPid)).toBe(true);

  const server = await start(dataDir);
  expect(isAlive(node.said.serverPid)).toBe(false);
  expect(serverPid(dataDir)).not.toBe(node.said.serverPid);
  expect(await query(server.connection, 'SELECT n FROM kept')).toEqual([[1]]);
  expect(server.logged[0]?.message).toMatch(/ended the server of a killed node/);
});

it('reports the death of its server, and committed data is there on the next start', async () => {
  const dataDir = temporaryDirectory();
  const server = await start(dataDir);
  await query(server.connection, 'CREATE TABLE kept AS SELECT 1 AS n');
  process.kill(serverPid(dataDir), 'SIGKILL');
  expect(await server.died).toMatch(/^PostgreSQL \(pid \d+\) was ended by SIGKILL$/);
  await server.stop();

  const next = await start(dataDir);
  expect(await query(next.connection, 'SELECT n FROM kept')).toEqual([[1]]);
});

it('does not report a stop as a death', async () => {
  const server = await start(temporaryDirectory());
  await server.stop();
  const later = new Promise((resolve) => setImmediate(resolve, 'nothing'));
  expect(await Promise.race([server.died, later])).toBe('nothing');
});

it('recovers when node and server are killed while a backend is in the middle of a statement', async () => {
  const dataDir = temporaryDirectory();
  const node = await startNode(dataDir);
  const { connection, serverPid: postmaster } = node.said;
  await query(connection, 'CREATE TABLE kept AS SELECT 1 AS n');
  const busy = new Client({ ...connection });
  busy.on('error', () => {}); // It is going to be cut off.
  await busy.connect();
  const backend = (await busy.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
  // Never waits, so it does not notice that its postmaster is gone, and holds on to the shared memory.
  const cutOff = busy.query('DO $$ BEGIN LOOP END LOOP; END $$').catch((error: unknown) => error);
  await node.end('SIGKILL');
  process.kill(postmaster, 'SIGKILL');
  await untilDead(postmaster);
  expect(isAlive(backend)).toBe(true);

  const server = await start(dataDir);
  expect(await cutOff).toBeInstanceOf(Error);
  expect(isAlive(backend)).toBe(false);
  expect(await query(server.connection, 'SELECT n FROM kept')).toEqual([[1]]);
});

it.each([
  ['an unrelated process', 'echo $$; exec sleep 60'],
  // It ends after its parent has become a program that does not wait for it.
  ['a process that ended and was not collected', 'sleep 0.2 & echo $!; exec sleep 60'],
])('ignores %s that has the pid of a killed server', async (_, script) => {
  const dataDir = temporaryDirectory();
  const server = await start(dataDir);
  const pidFile = path.join(dataDir, 'postgres', 'postmaster.pid');
  const content = readFileSync(pidFile, 'utf8');
  process.kill(serverPid(dataDir), 'SIGKILL');
  await server.died;
  // It runs as the server's own user: PostgreSQL itself takes a process it may signal for a running server.
  const stranger = spawn('sh', ['-c', script], isRoot ? NOBODY : {});
  later(() => void stranger.kill());
  const [pid] = (await once(stranger.stdout, 'data')) as [Buffer];
  writeFileSync(pidFile, content.replace(/^\d+/, pid.toString().trim()));
  if (Number(pid.toString()) !== stranger.pid) await untilDead(Number(pid.toString()));

  const next = await start(dataDir);
  expect(await query(next.connection, 'SELECT 1')).toEqual([[1]]);
  expect(isAlive(stranger.pid!)).toBe(true);
});

it('refuses a cluster with a server that it did not start, and leaves that server alone', async () => {
  const dataDir = temporaryDirectory();
  await (await start(dataDir)).stop();
  const cluster = path.join(dataDir, 'postgres');
  // The stranger is another user, who may not be able to enter the checkout.
  const { postgres } = await copyBinaries(await locateBinaries(), temporaryDirectory());
  const args = ['-D', cluster, '-c', 'listen_addresses=', '-c', 'unix_socket_directories=.'];
  const stranger = spawn(postgres, args, { ...(isRoot ? NOBODY : {}), cwd: cluster });
  later(async () => {
    const exit = once(stranger, 'exit');
    stranger.kill('SIGINT');
    await exit;
  });
  let said = '';
  for await (const text of stranger.stderr) {
    said += String(text);
    if (said.includes('ready to accept connections')) break;
  }
  await expect(start(dataDir)).rejects.toThrow(`did not start (pid ${stranger.pid}) runs on ${cluster}`);
  expect(isAlive(stranger.pid!)).toBe(true);
});

it('lets exactly one of several nodes that start at once have a new data directory', async () => {
  const dataDir = temporaryDirectory();
  const nodes = await Promise.all([startNode(dataDir), startNode(dataDir), startNode(dataDir)]);
  const winners = nodes.filter((node) => node.said.ready);
  expect(winners).toHaveLength(1);
  const inUse = `data directory ${dataDir} is in use by another Posthorn (pid ${winners[0]?.said.pid})`;
  for (const loser of nodes.filter((node) => !node.said.ready)) expect(loser.said.error).toContain(inUse);
  expect(await query(winners[0]!.said.connection, 'SELECT 1')).toEqual([[1]]);
  await expect(start(dataDir)).rejects.toThrow(inUse);

  await winners[0]!.end('SIGTERM');
  expect(await query((await start(dataDir)).connection, 'SELECT 1')).toEqual([[1]]);
});

it('refuses a second server in its own process, and the first keeps its lock', async () => {
  const dataDir = temporaryDirectory();
  await start(dataDir);
  await expect(start(dataDir)).rejects.toThrow(StartupError);
  await expect(start(dataDir)).rejects.toThrow(`(pid ${process.pid})`);
  const other = await startNode(dataDir);
  expect(other.said.error).toContain(`(pid ${process.pid})`);
});
