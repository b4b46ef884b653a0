import type { Config } from './config.ts';
import { StartupError } from './domain/startup-error.ts';
import type { Logger } from './platform/logger.ts';
import { type Connection, Database } from './store/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './store/embedded/embedded-postgres.ts';

/** The database of this node: the server at DATABASE_URL, or an embedded one that is kept running. */
export async function openDatabase(
  config: Config,
  log: Logger,
): Promise<{ db: Database; close(): Promise<void> }> {
  if (config.databaseUrl !== null) {
    const db = await connect({ connectionString: config.databaseUrl.reveal() }, config, log);
    return { db, close: () => db.close() };
  }
  const server = new KeptServer(config.dataDir, log);
  const connection = await server.start();
  try {
    const db = await connect({ ...connection, ssl: false }, config, log);
    return {
      db,
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

/** Beside the pools: one that hears of config changes, one for upkeep. */
const SESSIONS = 2;

async function connect(connection: Connection, config: Config, log: Logger): Promise<Database> {
  const db = new Database({ connection, connections: config.databaseConnections - SESSIONS, log });
  const problem = await db.problem();
  if (problem === null) return db;
  await db.close();
  throw new StartupError(`the database at DATABASE_URL cannot be used: ${problem}`);
}

const RESTART_PAUSE_MS = 1_000;

/** An embedded server that is started again when it ends without being asked to. */
class KeptServer {
  readonly #dataDir: string;
  readonly #log: Logger;
  #server: EmbeddedPostgres | undefined;
  #restarting: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(dataDir: string, log: Logger) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  async start(): Promise<EmbeddedPostgres['connection']> {
    this.#server = await startEmbeddedPostgres({ dataDir: this.#dataDir, log: this.#log });
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
    this.#log.error({ reason }, 'the embedded database ended; starting it again');
    while (!this.#stopped) {
      try {
        await this.start();
        return;
      } catch (error) {
        this.#log.error({ err: error }, 'the embedded database does not start');
        await new Promise((resolve) => setTimeout(resolve, RESTART_PAUSE_MS));
      }
    }
  }
}
