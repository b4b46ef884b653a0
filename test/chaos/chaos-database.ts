import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { killServer } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';

const PART_ROWS = 10_000;

/** A durable server that can be killed, frozen and restarted on the same data and address. */
export class ChaosDatabase {
  readonly #dataDir: string;
  #server: EmbeddedPostgres;
  #pid: number;

  private constructor(dataDir: string, started: { server: EmbeddedPostgres; pid: number }) {
    this.#dataDir = dataDir;
    this.#server = started.server;
    this.#pid = started.pid;
  }

  static async start(): Promise<ChaosDatabase> {
    const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-chaos-'));
    return new ChaosDatabase(dataDir, await startServer(dataDir));
  }

  get url(): string {
    const { host, port, user, database } = this.#server.connection;
    return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  }

  get socketPath(): string {
    const { host, port } = this.#server.connection;
    return join(host, `.s.PGSQL.${port}`);
  }

  /** The address through a relay at this port. */
  urlAt(port: number): string {
    const { user, database } = this.#server.connection;
    return `postgres://${user}@127.0.0.1:${port}/${database}`;
  }

  /** Kills the server and leaves it down for a while. */
  async outage(downMs: number): Promise<void> {
    await killServer(this.#pid);
    await this.#server.died;
    await new Promise((resolve) => setTimeout(resolve, downMs));
    const { server, pid } = await startServer(this.#dataDir);
    this.#server = server;
    this.#pid = pid;
  }

  async terminateConnections(): Promise<void> {
    await this.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');
  }

  async query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    const client = new pg.Client(this.#server.connection);
    await client.connect();
    try {
      return (await client.query(text, values)).rows as R[];
    } finally {
      await client.end();
    }
  }

  /** As `query`, a part of the rows at a time. */
  async queryInParts(text: string, each: (row: object) => void): Promise<void> {
    const client = new pg.Client(this.#server.connection);
    await client.connect();
    try {
      await client.query(`begin; declare parts no scroll cursor for ${text}`);
      for (;;) {
        const { rows } = await client.query(`fetch ${PART_ROWS} from parts`);
        for (const row of rows) each(row as object);
        if (rows.length < PART_ROWS) return;
      }
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function startServer(dataDir: string): Promise<{ server: EmbeddedPostgres; pid: number }> {
  let pid = 0;
  const log = {
    info: (fields: { pid?: number }) => {
      pid = fields.pid ?? pid;
    },
    warn: (fields: object, message: string) => quietLog.warn(fields, message),
  };
  const server = await startEmbeddedPostgres({ dataDir, log, settings: { max_connections: '200' } });
  return { server, pid };
}
