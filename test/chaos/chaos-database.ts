import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { OwnPostgres, startServer } from '../support/servers/own-postgres.ts';

const PART_ROWS = 10_000;
const SETTINGS = { max_connections: '200' };

/** The database of three nodes, on a data directory of its own. */
export class ChaosDatabase extends OwnPostgres {
  static override async start(): Promise<ChaosDatabase> {
    const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-chaos-'));
    return new ChaosDatabase(dataDir, SETTINGS, await startServer(dataDir, SETTINGS));
  }

  get socketPath(): string {
    const { host, port } = this.connection;
    return join(host, `.s.PGSQL.${port}`);
  }

  /** The address through a relay at this port. */
  urlAt(port: number): string {
    const { user, database } = this.connection;
    return `postgres://${user}@127.0.0.1:${port}/${database}`;
  }

  /** Kills the server and leaves it down for a while. */
  async outage(downMs: number): Promise<void> {
    await this.kill();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    await this.startAgain();
  }

  async terminateConnections(): Promise<void> {
    await this.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');
  }

  /** As `query`, a part of the rows at a time. */
  async queryInParts(text: string, each: (row: object) => void): Promise<void> {
    const client = new pg.Client(this.connection);
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

  override async stop(): Promise<void> {
    await super.stop();
    await rm(this.dataDir, { recursive: true, force: true, maxRetries: 10 });
  }
}
