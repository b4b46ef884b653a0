import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type EmbeddedPostgres,
  findRunningServer,
  startEmbeddedPostgres,
} from '../embedded-postgres/embedded-postgres.ts';
import type { Logger } from '../platform/logger.ts';
import { driverUrl } from '../platform/postgres-url.ts';
import { StartupError } from '../platform/startup-error.ts';
import type { Config } from '../settings/settings.ts';
import { type Connection, Database, type DatabaseOptions } from '../store/database/database.ts';

export interface OpenDatabase {
  db: Database;
  connection: Connection;
  close(): Promise<void>;
}

/**
 * The database of this node: the server at DATABASE_URL, which may be away, or an embedded one that is restarted when it
 * ends.
 */
export async function openDatabase(config: Config, log: Logger): Promise<OpenDatabase> {
  if (config.databaseUrl !== null) {
    await readAuthorities(config.databaseCaFile, 'POSTHORN_DATABASE_CA_FILE');
    return notYetConnected(connectionTo(config.databaseUrl.reveal(), config), config, log);
  }
  const server = new KeptServer(config, log);
  const connection = { ...(await server.start()), ssl: false };
  try {
    const { db } = await connectDatabase(connection, config, log);
    return {
      db,
      connection,
      close: async () => {
        await db.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The database for a command: that of a running node, or an embedded one that runs only as long as needed. */
export async function reachDatabase(
  config: Config,
  log: Logger,
): Promise<{ connection: Connection; close(): Promise<void> }> {
  if (config.databaseUrl !== null) {
    await readAuthorities(config.databaseCaFile, 'POSTHORN_DATABASE_CA_FILE');
    const connection = connectionTo(config.databaseUrl.reveal(), config);
    await (await connectDatabase(connection, config, log)).close();
    return { connection, close: async () => {} };
  }
  const running = await findRunningServer(config.dataDir);
  if (running !== undefined) return { connection: { ...running, ssl: false }, close: async () => {} };
  if (!existsSync(join(config.dataDir, 'postgres')))
    throw new StartupError(
      `there is no database in ${config.dataDir}; set POSTHORN_DATA_DIR or DATABASE_URL`,
    );
  const server = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  return { connection: { ...server.connection, ssl: false }, close: () => server.stop() };
}

/** Runs the work of a command on its database. */
export async function onDatabase<T>(
  config: Config,
  log: Logger,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const { connection, close } = await reachDatabase(config, log);
  try {
    const { db } = await connectDatabase(connection, config, log);
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  } finally {
    await close();
  }
}

/** In addition to the pools: one session for LISTEN on config changes, one for upkeep. */
const SESSIONS = 2;

/** Connects with this process's share of the connections. */
async function connectDatabase(connection: Connection, config: Config, log: Logger): Promise<OpenDatabase> {
  const database = notYetConnected(connection, config, log);
  const problem = await database.db.problem();
  if (problem === null) return database;
  await database.close();
  throw unusable(problem);
}

export const unusable = (problem: string) =>
  new StartupError(`the database at DATABASE_URL cannot be used: ${problem}`);

export function notYetConnected(connection: Connection, config: Config, log: Logger): OpenDatabase {
  const db = databaseOf(connection, config, log);
  return { db, connection, close: () => db.close() };
}

export const connectionTo = (url: string, { databaseCaFile }: Config): Connection => ({
  connectionString: driverUrl(url, databaseCaFile),
});

/** Not yet connected. */
export function databaseOf(connection: Connection, config: Config, log: Logger): Database {
  const share = Math.floor(config.databaseConnections / config.processes);
  const readingMs = config.searchSeconds * 1000;
  const standby = standbyOf(config, { readingMs, log });
  const timelineWaitMs = config.timelineWaitSeconds * 1000;
  return new Database({
    connection,
    connections: share - SESSIONS,
    readingMs,
    log,
    standby,
    timelineWaitMs,
  });
}

/** Database uses five of them for reads, and opens none before the first read. */
const STANDBY_CONNECTIONS = 8;

function standbyOf(
  config: Config,
  options: Pick<DatabaseOptions, 'readingMs' | 'log'>,
): Database | undefined {
  if (config.readUrl === null) return undefined;
  const connection = connectionTo(config.readUrl.reveal(), config);
  return new Database({ connection, connections: STANDBY_CONNECTIONS, use: 'read', ...options });
}

/** The PEM file of a setting. Undefined: it names none. */
export async function readAuthorities(file: string, setting: string): Promise<string | undefined> {
  if (file === '') return undefined;
  try {
    const pem = await readFile(file, 'utf8');
    // Throws if the file has no certificate.
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new StartupError(`${setting} cannot be read: ${(error as Error).message}`);
  }
}

const RESTART_PAUSE_MS = 1_000;
const LEAST_SERVER_CONNECTIONS = 100;
/** For commands, autovacuum and manual psql sessions. */
const SPARE_CONNECTIONS = 16;

/** An embedded server that is restarted when it ends unexpectedly. */
class KeptServer {
  readonly #config: Config;
  readonly #log: Logger;
  #server: EmbeddedPostgres | undefined;
  #restarting: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
  }

  async start(): Promise<EmbeddedPostgres['connection']> {
    const { dataDir, databaseConnections } = this.#config;
    const max_connections = String(
      Math.max(LEAST_SERVER_CONNECTIONS, databaseConnections + SPARE_CONNECTIONS),
    );
    this.#server = await startEmbeddedPostgres({ dataDir, log: this.#log, settings: { max_connections } });
    void this.#server.died.then((reason) => {
      this.#restarting = this.#restart(reason);
    });
    return this.#server.connection;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#restarting;
    await this.#server?.stop();
  }

  async #restart(reason: string): Promise<void> {
    this.#log.error({ reason }, 'the embedded database ended; restarting it');
    while (!this.#stopped) {
      try {
        await this.start();
        return;
      } catch (error) {
        this.#log.error({ err: error }, 'failed to start the embedded database');
        await sleep(RESTART_PAUSE_MS);
      }
    }
  }
}
