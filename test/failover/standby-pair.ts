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

/** A real server that can be frozen, killed, stopped and started again. */
export class PairServer {
  readonly dataDir: string;
  readonly #settings: Record<string, string>;
  #server: EmbeddedPostgres;
  #pid: number;
  #isFrozen = false;

  static async start(dataDir: string, settings: Record<string, string>): Promise<PairServer> {
    return new PairServer(dataDir, settings, await startServer(dataDir, settings));
  }

  private constructor(dataDir: string, settings: Record<string, string>, { server, pid }: StartedServer) {
    this.dataDir = dataDir;
    this.#settings = settings;
    this.#server = server;
    this.#pid = pid;
  }

  /** At its old address. */
  async startAgain(): Promise<void> {
    const { server, pid } = await startServer(this.dataDir, this.#settings);
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
    await (await startServer(one, {})).server.stop();
    await mkdir(two, { mode: 0o700 });
    await copyAsStandby(one, two);
    const primary = await PairServer.start(one, { synchronous_standby_names: isSynchronous ? '*' : '' });
    const relay = await startDatabaseRelay(primary.connection);
    const conninfo = `host=127.0.0.1 port=${relay.port} user=posthorn application_name=standby`;
    const standby = await PairServer.start(two, {
      primary_conninfo: conninfo,
      wal_retrieve_retry_interval: '200ms',
    });
    const pair = new StandbyPair({ primary, standby, relay }, folder);
    await pair.#streams(isSynchronous ? 'sync' : 'async');
    return pair;
  }

  /** The first primary is the primary, and the other one its standby, as after a rewind. For an asynchronous pair. */
  async comeBack(): Promise<void> {
    await Promise.all([this.primary.stop(), this.standby.stop()]);
    await rm(join(this.standby.dataDir, 'postgres'), { recursive: true });
    await copyAsStandby(this.primary.dataDir, this.standby.dataDir);
    await Promise.all([this.primary.startAgain(), this.standby.startAgain()]);
    await this.#streams('async');
  }

  async #streams(as: 'sync' | 'async'): Promise<void> {
    await eventually(
      () => this.primary.query<{ sync_state: string }>('select sync_state from pg_stat_replication'),
      [{ sync_state: as }],
    );
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

async function copyAsStandby(from: string, to: string): Promise<void> {
  await run('cp', ['-a', join(from, 'postgres'), join(to, 'postgres')]);
  await writeFile(join(to, 'postgres', 'standby.signal'), '');
}

interface StartedServer {
  server: EmbeddedPostgres;
  pid: number;
}

async function startServer(dataDir: string, settings: Record<string, string>): Promise<StartedServer> {
  let pid = 0;
  const log = {
    info: (fields: { pid?: number }) => {
      pid = fields.pid ?? pid;
    },
    warn: (fields: object, message: string) => quietLog.warn(fields, message),
  };
  return { server: await startEmbeddedPostgres({ dataDir, log, settings }), pid };
}
