import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findRunningServer } from '../src/embedded-postgres/running-server.ts';
import { usageOf } from './cost/process-usage.ts';

/** Posthorn with its embedded database, started by its command as a user would. */
const COMMAND = fileURLToPath(new URL('../bin/posthorn', import.meta.url));

export class Program {
  readonly #process: ChildProcess;
  readonly #dataDir: string;
  /** From the start of the process until it said that it is ready. */
  readonly startSeconds: number;

  private constructor(process: ChildProcess, dataDir: string, startSeconds: number) {
    this.#process = process;
    this.#dataDir = dataDir;
    this.startSeconds = startSeconds;
  }

  static async start(dataDir: string): Promise<Program> {
    const startedMs = performance.now();
    const child = spawn(COMMAND, ['serve'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_PORT: '0',
        POSTHORN_LOG_LEVEL: 'error',
      },
    });
    // A signal lets it stop its database, and it must not outlive the bench.
    const end = () => child.kill('SIGTERM');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    const [output] = await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(([code]) => [`the program ended with ${code}`]),
    ]);
    const startSeconds = (performance.now() - startedMs) / 1000;
    if (!String(output).includes(' is ready at ')) throw new Error(String(output));
    return new Program(child, dataDir, startSeconds);
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  /** CPU seconds since the start, of the service without its database and of the database. Null without /proc. */
  async cpu(): Promise<{ service: number; database: number } | null> {
    const file = await readFile(join(this.#dataDir, 'postgres/postmaster.pid'), 'latin1');
    const database = usageOf(Number(file.split('\n')[0]))?.cpuSeconds;
    const all = usageOf(this.pid)?.cpuSeconds;
    return all === undefined || database === undefined ? null : { service: all - database, database };
  }

  /** A connection of the bench to the embedded database. */
  async connect(): Promise<pg.Client> {
    const connection = await findRunningServer(this.#dataDir);
    if (connection === undefined) throw new Error(`no database runs in ${this.#dataDir}`);
    const client = new pg.Client(connection);
    await client.connect();
    return client;
  }

  databaseLog(): Promise<string> {
    return readFile(join(this.#dataDir, 'postgres.log'), 'utf8');
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await ended;
  }
}
