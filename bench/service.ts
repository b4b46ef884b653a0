import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { Credentials } from '../src/start/first-start.ts';
import { Program, readCredentials } from '../test/support/program.ts';
import type { HeapReport } from './cost/heap-report.ts';
import { NODE_FLAGS } from './node-flags.ts';

/** Posthorn itself, started as a user would start it, on its own database. */
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
export const SECRET_KEY = 'a secret key for the benchmark only';
const HEAP_REPORT = new URL('./cost/heap-report.ts', import.meta.url).href;

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
}

export class Service {
  readonly credentials: Credentials;
  /** The bench's own connection to the service's database. */
  readonly db: pg.Client;
  readonly #program: Program;
  #queries = 0;
  #stopping: Promise<void> | undefined;

  private constructor(program: Program, credentials: Credentials, db: pg.Client) {
    this.#program = program;
    this.credentials = credentials;
    this.db = db;
  }

  static async start(options: ServiceOptions): Promise<Service> {
    const { databaseUrl, dataDir, profileDir, reportsHeap = false, env } = options;
    const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
    const reporting = reportsHeap ? ['--import', HEAP_REPORT] : [];
    const program = new Program({
      command: [process.execPath, ...profiling, ...reporting, ...NODE_FLAGS, MAIN],
      args: ['serve'],
      talks: reportsHeap,
      env: {
        DATABASE_URL: databaseUrl,
        POSTHORN_SECRET_KEY: SECRET_KEY,
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_PORT: '0',
        POSTHORN_EGRESS: 'any',
        POSTHORN_GRACE: '1',
        POSTHORN_LOG_LEVEL: 'error',
        ...env,
      },
    });
    showErrors(program);
    await program.ready();
    const db = new pg.Client(databaseUrl);
    await db.connect();
    return new Service(program, readCredentials(dataDir) as Credentials, db);
  }

  get pid(): number {
    return this.#program.pid;
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
    const reported = once(this.#program.process, 'message');
    this.#program.process.send('report');
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
  async newTenant(name: string, config: object = {}): Promise<Service> {
    const { url, instance_key } = this.credentials;
    const made = await post<{ project: Created; api_key: { key: string } }>(
      `${url}/api/v1/projects`,
      instance_key,
      { name, type: 'outgoing', config },
    );
    const credentials = { ...this.credentials, project_id: made.project.uid, api_key: made.api_key.key };
    return new Service(this.#program, credentials, this.db);
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
    await this.#program.stop();
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

/** Its errors are shown, and it does not outlive the bench. */
export function showErrors(program: Program): void {
  program.process.stderr?.pipe(process.stderr, { end: false });
  const stop = () => program.signal('SIGTERM');
  process.once('exit', stop);
  void program.ended.then(() => process.off('exit', stop));
}
