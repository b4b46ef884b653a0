import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { STATISTICS_SETTINGS } from '../scaling/cost.ts';

/** A PostgreSQL server of its own, which can be killed and started again at the same address. */
export class CellServer {
  readonly #dataDir: string;
  #server: EmbeddedPostgres;
  #pid: number;
  #databases = 0;

  private constructor(dataDir: string, started: { server: EmbeddedPostgres; pid: number }) {
    this.#dataDir = dataDir;
    this.#server = started.server;
    this.#pid = started.pid;
  }

  static async start(): Promise<CellServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-cell-'));
    return new CellServer(dataDir, await start(dataDir));
  }

  get pid(): number {
    return this.#pid;
  }

  async createDatabase(): Promise<string> {
    const name = `cell_${(this.#databases += 1)}`;
    const { host, port, user } = this.#server.connection;
    const admin = new pg.Client(this.#server.connection);
    await admin.connect();
    await admin.query(`create database ${name}`);
    await admin.end();
    return `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`;
  }

  async kill(): Promise<void> {
    process.kill(this.#pid, 'SIGKILL');
    await this.#server.died;
  }

  async restart(): Promise<void> {
    const { server, pid } = await start(this.#dataDir);
    this.#server = server;
    this.#pid = pid;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function start(dataDir: string): Promise<{ server: EmbeddedPostgres; pid: number }> {
  let pid = 0;
  const log = {
    info: (fields: { pid?: number }) => {
      pid = fields.pid ?? pid;
    },
    warn: () => {},
  };
  // As many connections as four cells of one server need.
  const settings = { ...STATISTICS_SETTINGS, max_connections: '200' };
  return { server: await startEmbeddedPostgres({ dataDir, log, settings }), pid };
}
