import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { locateBinaries } from '../../src/embedded-postgres/binaries.ts';
import { chooseIdentity } from '../../src/embedded-postgres/choose-identity.ts';
import { prepareCluster } from '../../src/embedded-postgres/cluster.ts';
import type { EmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { needs } from '../support/suite/parts.ts';
import { isRoot, later, NOBODY, query, start, startNode, temporaryDirectory } from './support.ts';

/** A directory that only root may enter. */
function rootOnlyDirectory(): string {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o700);
  return directory;
}

/** A PATH on which user namespaces are refused, as in a container that forbids them. */
function pathWithoutNamespaces(): string {
  const directory = temporaryDirectory();
  const refusal = '#!/bin/sh\necho "unshare failed: not permitted" >&2\nexit 1\n';
  writeFileSync(path.join(directory, 'unshare'), refusal, { mode: 0o755 });
  return `${directory}:${process.env['PATH']}`;
}

/** The data directory of a cluster that root owns, as made where root could not give its files to anybody. */
async function clusterOfRoot(): Promise<string> {
  const dataDir = temporaryDirectory();
  await (await start(dataDir)).stop();
  spawnSync('chown', ['-R', '0:0', path.join(dataDir, 'postgres')]);
  return dataDir;
}

/** The server's capabilities beyond its user's rights, as the kernel's bit mask. */
async function capabilities(connection: EmbeddedPostgres['connection']): Promise<number> {
  const [row] = await query(connection, `SELECT pg_read_file('/proc/self/status', 0, 10000)`);
  return Number.parseInt(/CapEff:\s*([0-9a-f]+)/.exec(String(row?.[0]))?.[1] ?? '', 16);
}

describe('a data directory with a path too long for a socket', () => {
  it('gets a private socket directory elsewhere, noted in a file and removed after use', async () => {
    const dataDir = path.join(temporaryDirectory(), 'long'.repeat(20), 'ü'.repeat(40));
    const first = await start(dataDir);
    const elsewhere = first.connection.host;
    expect(elsewhere.startsWith(dataDir)).toBe(false);
    expect(statSync(elsewhere).mode & 0o777).toBe(0o700);
    expect(readFileSync(path.join(dataDir, 'socket-directory'), 'utf8')).toBe(`${elsewhere}\n`);
    expect(await query(first.connection, 'SELECT 1')).toEqual([[1]]);
    await first.stop();
    expect(existsSync(elsewhere)).toBe(false);

    // Another user of the machine may have taken the name meanwhile.
    if (!isRoot) return;
    mkdirSync(elsewhere);
    later(() => void spawnSync('rmdir', [elsewhere]));
    chownSync(elsewhere, 12_345, 12_345);
    await expect(start(dataDir)).rejects.toThrow(`${elsewhere} belongs to another user`);
    expect(existsSync(elsewhere)).toBe(true);
  });

  it('is found again by the next node after a kill, with any TMPDIR', async () => {
    const dataDir = path.join(temporaryDirectory(), 'long'.repeat(30));
    const node = await startNode(dataDir);
    await node.end('SIGKILL');
    const otherTmpdir = temporaryDirectory();
    const next = await startNode(dataDir, { env: { TMPDIR: otherTmpdir } });
    expect(next.said.connection.host).toBe(node.said.connection.host);
    expect(readdirSync(otherTmpdir)).toEqual([]);
    expect(await query(next.said.connection, 'SELECT 1')).toEqual([[1]]);
  });
});

describe('run by root', needs('root'), () => {
  it('runs the server as nobody below a directory that only root may enter', async () => {
    const dataDir = path.join(rootOnlyDirectory(), 'data');
    const first = await startNode(dataDir, { env: { PATH: pathWithoutNamespaces() } });
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(dataDir, 'postgres')).uid).toBe(NOBODY.uid);
    await query(first.said.connection, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.end('SIGKILL');

    const next = await start(dataDir);
    expect(next.logged.at(-1)?.fields).toMatchObject({ runs: 'user' });
    expect(await query(next.connection, 'SELECT n FROM kept')).toEqual([[1]]);
    expect(await capabilities(next.connection)).toBe(0);
  });

  it('protects the socket from other processes of the user nobody', async () => {
    const server = await start(path.join(temporaryDirectory(), 'data'));
    const socket = path.join(server.connection.host, '.s.PGSQL.5432');
    const look = (as: { uid?: number; gid?: number }): number | null => spawnSync('ls', [socket], as).status;
    expect(look({})).toBe(0);
    expect(look(NOBODY)).not.toBe(0);
  });

  it('runs the server as the owner of the data directory if that is not root', async () => {
    const dataDir = temporaryDirectory();
    const daemon = { uid: 1, gid: 1 };
    chownSync(dataDir, daemon.uid, daemon.gid);
    chmodSync(dataDir, 0o700);
    await start(dataDir);
    expect(statSync(path.join(dataDir, 'postgres')).uid).toBe(daemon.uid);
  });

  it('runs a cluster that root owns without root privileges', needs('unshare'), async () => {
    const dataDir = await clusterOfRoot();
    const server = await start(dataDir);
    expect(server.logged[0]?.fields).toMatchObject({ runs: 'namespace' });
    expect(await capabilities(server.connection)).toBe(0);
    await query(server.connection, 'CREATE TABLE kept AS SELECT 1 AS n');
    await server.stop();

    const node = await startNode(dataDir);
    await node.end('SIGKILL');
    const next = await start(dataDir);
    expect(await query(next.connection, 'SELECT n FROM kept')).toEqual([[1]]);
  });

  it('gives the next step if a cluster that root owns cannot run, and leaves nothing behind', async () => {
    const dataDir = await clusterOfRoot();
    const node = await startNode(dataDir, { env: { PATH: pathWithoutNamespaces() } });
    expect(node.said.error).toMatch(/does not run as root.*not permitted.*chown -R nobody.*DATABASE_URL/);
    expect(node.said.error).not.toContain('\n');
    expect(readdirSync(dataDir).sort()).toEqual(['lock', 'postgres', 'postgres.log']);
  });

  it('runs a copy of the binaries when only root may enter the checkout', async () => {
    const checkout = path.join(rootOnlyDirectory(), 'native');
    cpSync((await locateBinaries()).root, checkout, { recursive: true, verbatimSymlinks: true });
    const hidden = { root: checkout, initdb: `${checkout}/bin/initdb`, postgres: `${checkout}/bin/postgres` };
    const dataDir = rootOnlyDirectory();
    const cluster = path.join(dataDir, 'postgres');
    const identity = await chooseIdentity(dataDir, cluster, hidden);
    later(() => rmSync(identity.binaries.root, { recursive: true }));
    expect(identity.runAs).toMatchObject({ kind: 'user', uid: NOBODY.uid });
    expect(identity.binaries.root).not.toContain(checkout);
    expect(await prepareCluster(cluster, identity)).toBe('made');
    expect((await chooseIdentity(dataDir, cluster, hidden)).binaries).toEqual(identity.binaries);
  });

  it('runs the server of an ordinary user as that user, and refuses the cluster of another', async () => {
    const dataDir = temporaryDirectory();
    chownSync(dataDir, NOBODY.uid, NOBODY.gid);
    const node = await startNode(dataDir, { as: NOBODY });
    expect(await query(node.said.connection, 'SELECT 1')).toEqual([[1]]);
    await node.end('SIGTERM');
    chownSync(path.join(dataDir, 'postgres'), 1, 1);
    const other = await startNode(dataDir, { as: NOBODY });
    expect(other.said.error).toMatch(/belongs to uid 1: run Posthorn as that user/);
  });

  it('serves a user id that has no name', needs('unshare'), async () => {
    const dataDir = temporaryDirectory();
    const nameless = { uid: 43_210, gid: 43_210 };
    chownSync(dataDir, nameless.uid, nameless.gid);
    const node = await startNode(dataDir, { as: nameless });
    expect(node.said).toMatchObject({ ready: true });
    expect(statSync(path.join(dataDir, 'postgres')).uid).toBe(nameless.uid);
  });
});
