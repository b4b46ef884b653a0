import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ApiClient, type Json } from './client.ts';
import { happened } from './eventually.ts';

/**
 * The real program as a child process, in its own process group. Its output is kept. `ready` and `ended`
 * settle by themselves. `kill` ends it (and `end` ensures that after a test), its database included.
 */
const ROOT = join(import.meta.dirname, '../..');

export interface ProgramOptions {
  /** The arguments of posthorn. */
  args?: string[];
  env?: Record<string, string>;
  /** Another command that runs the program, such as npm. */
  command?: string[];
  cwd?: string;
  as?: { uid: number; gid: number };
  /** Whether it and its parent send each other messages. */
  talks?: boolean;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export class Program {
  readonly process: ChildProcess;
  readonly ended: Promise<Exit>;
  stdout = '';
  stderr = '';
  /** Null: it ended first. */
  readonly #ready = Promise.withResolvers<string | null>();

  constructor(options: ProgramOptions) {
    const [file = '', ...args] = options.command ?? [process.execPath, join(ROOT, 'src/main.ts')];
    this.process = spawn(file, [...args, ...(options.args ?? [])], {
      ...options.as,
      cwd: options.cwd ?? ROOT,
      env: cleanEnvironment(options.env ?? {}),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...(options.talks === true ? ['ipc' as const] : [])],
    });
    this.process.stdout?.on('data', (text: Buffer) => {
      this.stdout += text.toString();
      const url = /Posthorn is ready at (\S+)/.exec(this.stdout)?.[1];
      if (url !== undefined) this.#ready.resolve(url);
      happened();
    });
    this.process.stderr?.on('data', (text: Buffer) => {
      this.stderr += text.toString();
      happened();
    });
    // `close`, unlike `exit`, comes after the last output.
    this.ended = once(this.process, 'close').then(([code, signal]) => {
      happened();
      this.#ready.resolve(null);
      return { code, signal } as Exit;
    });
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  /** The address in its ready message. */
  async ready(): Promise<string> {
    const url = await this.#ready.promise;
    if (url === null) throw new Error(`the program ended before it was ready: ${this.stderr}`);
    return url;
  }

  /** The log lines about the embedded database, newest last. */
  get databases(): { pid: number; socket: string }[] {
    return this.stderr
      .split('\n')
      .filter((line) => line.includes('embedded PostgreSQL is ready'))
      .map((line) => JSON.parse(line) as { pid: number; socket: string });
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** The whole process group, as a terminal does on Ctrl-C. */
  signalGroup(signal: NodeJS.Signals): void {
    process.kill(-this.pid, signal);
  }

  /** It ends its work and itself. */
  async stop(): Promise<Exit> {
    if (this.isRunning) this.signal('SIGTERM');
    return this.ended;
  }

  async kill(): Promise<void> {
    if (this.isRunning) this.process.kill('SIGKILL');
    await this.ended;
  }

  /** For after a test: no process of it is left, also none that stands still and so holds its output open. */
  async end(): Promise<void> {
    if (this.isRunning) this.signalGroup('SIGKILL');
    await this.ended;
    for (const { pid } of this.databases) await killServer(pid);
  }
}

/** Kills a database server, which its child processes notice, and waits until it is gone. */
export async function killServer(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  while (isAlive(pid)) await delay(10);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

function cleanEnvironment(env: Record<string, string>): NodeJS.ProcessEnv {
  const ours = /^(POSTHORN_|DATABASE_URL$|PG|NODE_OPTIONS$|VITEST)/;
  const inherited = Object.entries(process.env).filter(([name]) => !ours.test(name));
  return { ...Object.fromEntries(inherited), ...env };
}

/** Below the ports that systems give to outgoing connections: one of those may take a port before its server starts. */
const PORTS = { from: 10_000, to: 32_000 };

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

export function readCredentials(dataDir: string): Json {
  return JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
}

/** The API of a program, by the credentials of its first start. Its address may have changed since. */
export function clientOf(url: string, credentials: Json): ApiClient {
  return new ApiClient(`${url}/api/v1/projects/${credentials.project_id}`, credentials.api_key);
}

/** Queries the embedded database of a running program. */
export async function ask(program: Program, sql: string): Promise<Json[]> {
  const client = new pg.Client({
    host: program.databases.at(-1)?.socket ?? '',
    port: 5432,
    user: 'posthorn',
    database: 'posthorn',
  });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Json[];
  } finally {
    await client.end();
  }
}
