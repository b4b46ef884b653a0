import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Credentials } from '../src/start/first-start.ts';
import type { HeapReport } from './cost/heap-report.ts';
import { NODE_FLAGS } from './node-flags.ts';

/** Posthorn itself, started as a user would start it, on its own database. */
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
export const SECRET_KEY = 'a secret key for the benchmark only';
const HEAP_REPORT = new URL('./cost/heap-report.ts', import.meta.url).href;
const START_MS = 120_000;

export interface Created {
  uid: string;
  mask_id?: string;
  /** The token of a portal link. */
  token?: string;
}

export interface ServiceOptions {
  databaseUrl: string;
  dataDir: string;
  /** A folder to write a CPU profile to when the service ends. */
  profileDir?: string;
  /** Whether `heap` can be called. */
  reportsHeap?: true;
  env?: Record<string, string>;
  /** Its port, if another service has the same data directory. */
  port?: number;
  /** The database that the bench looks at, if it is not the service's own. */
  lookAt?: string;
}

export class Service {
  readonly credentials: Credentials;
  /** The bench's own connection to the service's database. */
  readonly db: pg.Client;
  readonly #process: ChildProcess;
  #queries = 0;
  #stopping: Promise<void> | undefined;

  private constructor(process: ChildProcess, credentials: Credentials, db: pg.Client) {
    this.#process = process;
    this.credentials = credentials;
    this.db = db;
  }

  static async start(options: ServiceOptions): Promise<Service> {
    const { databaseUrl, dataDir, profileDir, reportsHeap, env, port } = options;
    const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
    const reporting = reportsHeap ? ['--import', HEAP_REPORT] : [];
    const child = spawn(process.execPath, [...profiling, ...reporting, ...NODE_FLAGS, MAIN, 'serve'], {
      stdio: ['ignore', 'ignore', 'inherit', ...(reportsHeap ? ['ipc' as const] : [])],
      env: {
        PATH: process.env['PATH'],
        // Tests share what Node compiled. A start takes a third of the CPU time then.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        DATABASE_URL: databaseUrl,
        POSTHORN_SECRET_KEY: SECRET_KEY,
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_PORT: String(port ?? 0),
        POSTHORN_EGRESS: 'any',
        POSTHORN_GRACE: '1',
        POSTHORN_LOG_LEVEL: 'error',
        ...env,
      },
    });
    // The service must not outlive the bench.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    try {
      const credentials = await readWhenThere(join(dataDir, 'credentials.json'), child, port);
      const db = new pg.Client(options.lookAt ?? databaseUrl);
      await db.connect();
      return new Service(child, credentials, db);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  get broadcastUrl(): string {
    return `${this.credentials.url}/api/v1/projects/${this.credentials.project_id}/events/broadcast`;
  }

  get authorization(): string {
    return `Bearer ${this.credentials.api_key}`;
  }

  /** Statements that the bench sent to the service's database. They are subtracted from the database's counts. */
  get queries(): number {
    return this.#queries;
  }

  async query<R extends object>(text: string): Promise<R> {
    this.#queries += 1;
    return (await this.db.query(text)).rows[0] as R;
  }

  async heap(): Promise<HeapReport> {
    const reported = once(this.#process, 'message');
    this.#process.send('report');
    return (await reported)[0] as HeapReport;
  }

  /** Every delivery has ended. */
  async isIdle(): Promise<boolean> {
    return (await this.query<{ idle: boolean }>('select not exists (select from delivery_queue) as idle'))
      .idle;
  }

  async post(path: string, body: object): Promise<Created> {
    const { url, project_id, api_key } = this.credentials;
    return post(`${url}/api/v1/projects/${project_id}${path}`, api_key, body);
  }

  /** This service for the owner of a new project. */
  async newTenant(name: string, config: object = {}, cell?: string): Promise<Service> {
    const { url, instance_key } = this.credentials;
    const made = await post<{ project: Created; api_key: { key: string } }>(
      `${url}/api/v1/projects`,
      instance_key,
      { name, type: 'outgoing', config, ...(cell !== undefined && { cell }) },
    );
    const credentials = { ...this.credentials, project_id: made.project.uid, api_key: made.api_key.key };
    return new Service(this.#process, credentials, this.db);
  }

  /** An endpoint and its subscription to one event type. */
  async subscribe(url: string, eventType: string, extra: { endpoint?: object; subscription?: object } = {}) {
    const endpoint = await this.post('/endpoints', { name: 'sink', url, ...extra.endpoint });
    const subscription = await this.post('/subscriptions', {
      name: 'all of a type',
      endpoint_id: endpoint.uid,
      filter_config: { event_types: [eventType] },
      ...extra.subscription,
    });
    return { endpointId: endpoint.uid, subscriptionId: subscription.uid };
  }

  /** Ends the service and keeps the connection to its database. */
  async halt(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await ended;
  }

  /** Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.halt().then(() => this.db.end());
    return this.#stopping;
  }
}

export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function post<Data = Created>(url: string, key: string, body: object): Promise<Data> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, `POST ${url}: ${response.status} ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}

async function readWhenThere(path: string, child: ChildProcess, port?: number): Promise<Credentials> {
  for (const startedMs = performance.now(); performance.now() - startedMs < START_MS; await pause(20)) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode} while starting`);
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null) continue;
    const credentials = JSON.parse(text) as Credentials;
    if (port !== undefined) credentials.url = `http://127.0.0.1:${port}`;
    const ready = await fetch(`${credentials.url}/readyz`).catch(() => null);
    if (ready?.ok === true) return credentials;
  }
  throw new Error('the service was not ready within two minutes');
}
