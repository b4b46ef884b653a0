import type { Logger } from '../platform/logger.ts';
import type { Config } from '../settings/settings.ts';
import { openDatabase } from '../start/open-database.ts';
import { refuseTakenPort } from '../start/refuse-taken-port.ts';
import type { Running } from '../start/stop-in-time.ts';
import type { Database } from '../store/database/database.ts';
import { freeAllLeased } from '../store/queue/nodes.ts';
import { migrate } from '../store/upkeep/migrate.ts';
import { Supervisor } from './supervisor.ts';

/**
 * Runs the program as several processes, each a node of its own. This process, the primary, owns the embedded
 * database and migrates the schema. Then it closes its own connections, so that the processes have them all,
 * and serves no requests itself.
 */
export async function startProcesses(config: Config, log: Logger): Promise<Running> {
  await refuseTakenPort(config);
  const database = await openDatabase(config, log);
  const supervisor = new Supervisor({ config, log, connection: database.connection });
  try {
    await prepare(database.db, config, log);
    await database.db.close();
    const { url, credentials, nodes } = await supervisor.start();
    const stop = async () => {
      await supervisor.stop();
      await database.close();
    };
    let stopping: Promise<void> | undefined;
    return { url, credentials, nodes, stop: () => (stopping ??= stop()) };
  } catch (error) {
    supervisor.kill();
    await database.close();
    throw error;
  }
}

async function prepare(db: Database, config: Config, log: Logger): Promise<void> {
  await migrate(db, log);
  // This process has the lock on the embedded database's directory, so no earlier holder of a row is alive.
  // Only the primary frees the rows, because each process would free rows that another has just claimed.
  if (config.databaseUrl === null) await freeAllLeased(db);
}
