import { chmod, chown, copyFile, cp, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { binariesOf, locateBinaries } from '../../../src/embedded-postgres/binaries.ts';
import { chooseIdentity, type Identity } from '../../../src/embedded-postgres/choose-identity.ts';
import { commandAs, nameFromWithin, runToEnd } from '../../../src/embedded-postgres/run-as.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../program.ts';
import { ServerProcess } from './server-process.ts';

/**
 * A PostgreSQL of a customer, from the embedded binaries or those in SOURCE_POSTGRES: it listens on TCP, with and without
 * TLS, and writes what logical replication needs. The user `admin` needs no password; all others do.
 */
const CERTIFICATES = join(import.meta.dirname, '../certificates');
const ADMIN = 'admin';
const SETTINGS = {
  wal_level: 'logical',
  max_wal_senders: '40',
  max_replication_slots: '60',
  max_connections: '200',
  fsync: 'off',
  shared_buffers: '32MB',
  // A slot soon holds back more than this.
  max_wal_size: '16MB',
  min_wal_size: '8MB',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // The default since version 14.
  password_encryption: 'scram-sha-256',
  timezone: 'Asia/Kolkata',
  datestyle: 'german',
};

export class PostgresServer {
  readonly port: number;
  readonly #directory: string;
  readonly #identity: Identity;
  readonly #settings: Record<string, string>;
  #process: ServerProcess | undefined;

  private constructor(given: {
    port: number;
    directory: string;
    identity: Identity;
    settings: Record<string, string>;
  }) {
    this.port = given.port;
    this.#directory = given.directory;
    this.#identity = given.identity;
    this.#settings = given.settings;
  }

  static async start(settings: Record<string, string> = {}): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-customer-'));
    // Before version 16 initdb leaves its working directory and comes back by name, also as another user.
    await chmod(directory, 0o711);
    const other = process.env['SOURCE_POSTGRES'];
    const binaries = await (other === undefined ? locateBinaries() : binariesOf(other));
    const identity = await chooseIdentity(directory, join(directory, 'cluster'), binaries);
    const port = await freePort();
    const server = new PostgresServer({ port, directory, identity, settings: { ...SETTINGS, ...settings } });
    await server.#makeCluster();
    await server.resume();
    return server;
  }

  get #cluster(): string {
    return join(this.#directory, 'cluster');
  }

  async #makeCluster(): Promise<void> {
    const { runAs, binaries } = this.#identity;
    await mkdir(this.#cluster, { mode: 0o700 });
    await this.#own(this.#cluster);
    const here = nameFromWithin(this.#cluster);
    // Small segments of the log: it is soon more than max_wal_size.
    const args = [
      `-D${here}`,
      `-U${ADMIN}`,
      '-Atrust',
      '-EUTF8',
      '--locale=C',
      '--no-sync',
      '--wal-segsize=1',
    ];
    const made = runToEnd(commandAs(runAs, { file: binaries.initdb, args, cwd: this.#cluster }));
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
    const rules = [`host all ${ADMIN} 127.0.0.1/32 trust`, 'host all all 127.0.0.1/32 scram-sha-256'];
    await writeFile(join(this.#cluster, 'pg_hba.conf'), `${rules.join('\n')}\n`);
    for (const name of ['endpoint.key', 'endpoint.pem']) {
      const file = join(this.#cluster, name);
      await copyFile(join(CERTIFICATES, name), file);
      await chmod(file, 0o600);
      await this.#own(file);
    }
  }

  url(database: string, user = ADMIN, password = ''): string {
    const credentials = password === '' ? user : `${user}:${encodeURIComponent(password)}`;
    return `postgres://${credentials}@127.0.0.1:${this.port}/${database}`;
  }

  /** Kills it; its data stays. */
  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  /** Copies its files, to be put back later. The server is stopped for that. */
  async copyFiles(): Promise<{ putBack(): Promise<void> }> {
    const copy = join(this.#directory, 'copy');
    await this.kill();
    await cp(this.#cluster, copy, { recursive: true, preserveTimestamps: true });
    await this.resume();
    const putBack = async () => {
      await this.kill();
      await rm(this.#cluster, { recursive: true, force: true });
      await cp(copy, this.#cluster, { recursive: true, preserveTimestamps: true });
      await this.#own(this.#cluster);
      await this.resume();
    };
    return { putBack };
  }

  /** It goes on in a new timeline, as after a restore to an earlier time or a failover. */
  async beginTimeline(): Promise<void> {
    await this.kill();
    const signal = join(this.#cluster, 'standby.signal');
    await writeFile(signal, '');
    await this.#own(signal);
    await this.resume();
    await this.query('postgres', 'select pg_promote()');
  }

  async #own(path: string): Promise<void> {
    const { runAs } = this.#identity;
    if (runAs.kind !== 'user') return;
    await chown(path, runAs.uid, runAs.gid);
    if (!(await stat(path)).isDirectory()) return;
    for (const name of await readdir(path)) await this.#own(join(path, name));
  }

  /** Starts it on the data that it has. */
  async resume(): Promise<void> {
    const settings = {
      ...this.#settings,
      port: String(this.port),
      ssl: 'on',
      ssl_cert_file: 'endpoint.pem',
      ssl_key_file: 'endpoint.key',
    };
    const { runAs, binaries } = this.#identity;
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const args = ['-D', nameFromWithin(this.#cluster), ...options];
    const {
      file,
      args: all,
      options: how,
    } = commandAs(runAs, { file: binaries.postgres, args, cwd: this.#cluster });
    this.#process = new ServerProcess(file, [...all], how);
    await this.#process.listening(this.port);
    // It listens before it has recovered.
    const ask = () => this.query('postgres', 'select 1 as one').catch(() => []);
    await eventually(ask, { length: 1 }, 120_000);
  }

  async query(database: string, text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    await client.connect();
    try {
      const answer = (await client.query(text)) as pg.QueryResult | pg.QueryResult[];
      return (Array.isArray(answer) ? answer.at(-1)?.rows : answer.rows) as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}
