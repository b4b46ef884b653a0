import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../src/platform/logger.ts';
import { StartupError } from '../../src/platform/startup-error.ts';
import { readConfig } from '../../src/settings/settings.ts';
import { type App, startApp } from '../../src/start/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';

/** Nodes on one database, each with the keys it is given; commands as programs of their own. */
export interface Keys {
  secretKey: string;
  otherSecretKey?: string;
}

export interface ClusterNode {
  app: App;
  project: ApiClient;
  portal(token: string): ApiClient;
}

export class Cluster {
  readonly database: TestDatabase;
  /** The log of the nodes. */
  log = '';
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'posthorn-keys-'));
  readonly #programs: Program[] = [];
  readonly #apps: App[] = [];

  private constructor(database: TestDatabase) {
    this.database = database;
  }

  static async make(): Promise<Cluster> {
    return new Cluster(await createTestDatabase());
  }

  async start(keys: Keys): Promise<ClusterNode> {
    const log = createLogger('info', {
      write: (line: string) => {
        this.log += line;
      },
    });
    const app = await startApp(readConfig(this.#env(keys)), log);
    this.#apps.push(app);
    return {
      app,
      project: clientOf(app.url, readCredentials(this.#dataDir)),
      portal: (token) => new ApiClient(`${app.url}/portal-api`, token),
    };
  }

  /** The error of a refused start. */
  async refusal(keys: Keys): Promise<string> {
    try {
      await this.start(keys);
    } catch (error) {
      if (error instanceof StartupError) return error.message;
      throw error;
    }
    throw new Error('it started');
  }

  reseal(keys: Keys): Program {
    const program = new Program({ args: ['reseal'], env: this.#env(keys) });
    this.#programs.push(program);
    return program;
  }

  /** The one line that sealing again ends with, badly. */
  async resealRefusal(keys: Keys): Promise<string> {
    const program = this.reseal(keys);
    const { code } = await program.ended;
    const [line = '', ...rest] = program.stderr.split('\n');
    if (code !== 1 || rest.join('') !== '') throw new Error(`${code}: ${program.stdout}${program.stderr}`);
    return line;
  }

  /** The ids of keys that sealed something, with how many values each did. */
  async keysOfValues(): Promise<Json> {
    const columns = [
      'projects.sealed',
      'projects.sealed_variables',
      'endpoints.sealed',
      'sources.sealed',
      'portal_links.sealed_token',
      'jobs.sealed',
      'change_stream_slots.sealed',
      'people.sealed_totp',
      'instance_secrets.sealed',
    ];
    const parts = columns.map((column) => `select ${column} as sealed from ${column.split('.')[0]}`);
    parts.push(`select decode(function_request, 'base64') from event_deliveries`);
    const rows = await this.database.query(
      `select encode(substring(sealed from 2 for 8), 'hex') as key, count(*)::int as count
       from (${parts.join(' union all ')}) as v where sealed is not null group by 1`,
    );
    return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
  }

  async end(): Promise<void> {
    await Promise.all([
      ...this.#apps.map((app) => app.stop()),
      ...this.#programs.map((program) => program.end()),
    ]);
    await this.database.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  #env(keys: Keys): Record<string, string> {
    return {
      DATABASE_URL: this.database.url,
      POSTHORN_SECRET_KEY: keys.secretKey,
      POSTHORN_OTHER_SECRET_KEY: keys.otherSecretKey ?? '',
      POSTHORN_PORT: '0',
      POSTHORN_EGRESS: 'any',
      POSTHORN_DATA_DIR: this.#dataDir,
    };
  }
}
