import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';

export const isRoot = process.geteuid?.() === 0;
export const NOBODY = { uid: 65_534, gid: 65_534 };

/** After the test, the last one first. */
export function later(cleanUp: () => Promise<void> | void): void {
  onTestFinished(cleanUp);
}

/** A directory that other users may pass through, gone after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'embedded-'));
  chmodSync(directory, 0o755);
  later(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

export interface Logged {
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export async function start(
  dataDir: string,
  settings: Record<string, string> = {},
): Promise<EmbeddedPostgres & { logged: Logged[] }> {
  const logged: Logged[] = [];
  const note = (fields: object, message: string): void => {
    logged.push({ fields: { ...fields }, message });
  };
  const server = await startEmbeddedPostgres({ dataDir, settings, log: { info: note, warn: note } });
  later(() => server.stop());
  return { ...server, logged };
}

export async function query(connection: EmbeddedPostgres['connection'], sql: string): Promise<unknown[][]> {
  const client = new Client({ ...connection });
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

interface Said {
  readonly ready: boolean;
  readonly pid: number;
  readonly serverPid: number;
  readonly error: string;
  readonly connection: EmbeddedPostgres['connection'];
}

export interface Node {
  readonly process: ChildProcess;
  readonly said: Said;
  /** Sends the signal and waits for the end of the process. */
  end(signal: NodeJS.Signals): Promise<void>;
}

const CHECKOUT = path.join(import.meta.dirname, '../..');

/** The checkout again, where any user may read it: a clone often lies below a directory that only root may enter. */
function checkoutForOthers(): string {
  const copy = temporaryDirectory();
  const modules = readdirSync(path.join(CHECKOUT, 'node_modules'));
  // Other tests write to the cache meanwhile.
  const packages = modules.filter((name) => name !== '.cache').map((name) => `node_modules/${name}`);
  const parts = ['package.json', 'src', 'test', ...packages];
  // Hard links cost nothing; another file system takes a real copy.
  const copied = (how: string) => ['--parents', how, ...parts, copy];
  if (spawnSync('cp', copied('-al'), { cwd: CHECKOUT }).status !== 0)
    execFileSync('cp', copied('-a'), { cwd: CHECKOUT });
  return copy;
}

/** Another process of ours on that data directory, once it is ready or has given up. */
export async function startNode(
  dataDir: string,
  options: { exits?: boolean; as?: { uid: number; gid: number }; env?: NodeJS.ProcessEnv } = {},
): Promise<Node> {
  const checkout = options.as === undefined ? CHECKOUT : checkoutForOthers();
  const program = path.join(checkout, 'test/embedded/node-with-database.ts');
  const node = process.execPath.replace(CHECKOUT, checkout);
  const child = spawn(node, [program, dataDir, options.exits === true ? 'exit' : ''], {
    ...options.as,
    cwd: '/',
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  };
  later(() => end('SIGTERM'));
  for await (const line of createInterface({ input: child.stdout })) {
    return { process: child, said: JSON.parse(line) as Said, end };
  }
  throw new Error('the node ended without a word');
}

export function serverPid(dataDir: string): number {
  return Number.parseInt(readFileSync(path.join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie only waits for its parent. It is dead.
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export async function untilDead(pid: number): Promise<void> {
  while (isAlive(pid)) await delay(10);
}
