import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { eventually } from '../support/eventually.ts';
import { killServer } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/servers/database-relay.ts';

const run = promisify(execFile);

/** A real server that can be frozen and killed. */
export class PairServer {
  readonly #server: EmbeddedPostgres;
  readonly #pid: number;
  #isFrozen = false;

  constructor(server: EmbeddedPostgres, pid: number) {
    this.#server = server;
    this.#pid = pid;
  }

  get connection(): EmbeddedPostgres['connection'] {
    return this.#server.connection;
  }

  async query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      return (await client.query(text, values)).rows as R[];
    } finally {
      await client.end();
    }
  }

  /** All of its processes stand still: connections stay open, and no one answers. */
  freeze(): void {
    this.#isFrozen = true;
    this.#signalAll('SIGSTOP');
  }

  thaw(): void {
    if (this.#isFrozen) this.#signalAll('SIGCONT');
    this.#isFrozen = false;
  }

  async kill(): Promise<void> {
    await killServer(this.#pid);
    await this.#server.died;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  #signalAll(signal: NodeJS.Signals): void {
    const children = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && isChild(entry, this.#pid));
    for (const pid of [this.#pid, ...children.map(Number)]) process.kill(pid, signal);
  }
}

function isChild(pid: string, parent: number): boolean {
  try {
    return Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent;
  } catch {
    return false; // It has ended.
  }
}

/**
 * A primary and a standby that streams from it. The primary is reached through a relay, by nodes and by the
 * standby, so that it can be cut off. The test promotes, as a tool such as Patroni does.
 */
export class StandbyPair {
  readonly primary: PairServer;
  readonly standby: PairServer;
  readonly relay: DatabaseRelay;
  readonly #folder: string;

  private constructor(parts: Pick<StandbyPair, 'primary' | 'standby' | 'relay'>, folder: string) {
    this.primary = parts.primary;
    this.standby = parts.standby;
    this.relay = parts.relay;
    this.#folder = folder;
  }

  static async start({ isSynchronous = true } = {}): Promise<StandbyPair> {
    const folder = await mkdtemp(join(tmpdir(), 'posthorn-pair-'));
    const [one, two] = [join(folder, '1'), join(folder, '2')];
    // Stopped for the copy: the standby begins as the primary's twin.
    await (await startServer(one, {})).stop();
    await mkdir(two, { mode: 0o700 });
    await run('cp', ['-a', join(one, 'postgres'), join(two, 'postgres')]);
    await writeFile(join(two, 'postgres', 'standby.signal'), '');
    const primary = await startServer(one, { synchronous_standby_names: isSynchronous ? '*' : '' });
    const relay = await startDatabaseRelay(primary.connection);
    const conninfo = `host=127.0.0.1 port=${relay.port} user=posthorn application_name=standby`;
    const standby = await startServer(two, {
      primary_conninfo: conninfo,
      wal_retrieve_retry_interval: '200ms',
    });
    await eventually(
      () => primary.query<{ sync_state: string }>('select sync_state from pg_stat_replication'),
      ([row]) => row?.sync_state === (isSynchronous ? 'sync' : 'async'),
    );
    return new StandbyPair({ primary, standby, relay }, folder);
  }

  /** The standby alone. */
  get standbyUrl(): string {
    const { host, port, user, database } = this.standby.connection;
    return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  }

  /** Both servers, the first primary first. */
  get url(): string {
    const { host, port, user, database } = this.standby.connection;
    const hosts = `127.0.0.1,${encodeURIComponent(host)}`;
    return `postgres://${user}@/${database}?host=${hosts}&port=${this.relay.port},${port}&target_session_attrs=read-write`;
  }

  async promote(): Promise<void> {
    await this.standby.query('select pg_promote()');
  }

  async stop(): Promise<void> {
    this.relay.close();
    this.primary.thaw();
    await Promise.all([this.primary.stop(), this.standby.stop()]);
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function startServer(dataDir: string, settings: Record<string, string>): Promise<PairServer> {
  let pid = 0;
  const log = {
    info: (fields: { pid?: number }) => {
      pid = fields.pid ?? pid;
    },
    warn: (fields: object, message: string) => quietLog.warn(fields, message),
  };
  return new PairServer(await startEmbeddedPostgres({ dataDir, log, settings }), pid);
}
