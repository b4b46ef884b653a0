import { access, constants, mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';
import { binariesOf, locateBinaries } from './binaries.ts';
import { chooseIdentity } from './choose-identity.ts';
import { prepareCluster, SUPERUSER } from './cluster.ts';
import { lockDataDirectory } from './data-directory-lock.ts';
import { type Connection, ensureDatabase } from './ensure-database.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';
import { commandAs, nameFromWithin, ownerUid } from './run-as.ts';
import { clusterName, endLeftovers } from './server-processes.ts';
import { SERVER_SETTINGS } from './server-settings.ts';
import { prepareSocketDirectory, SOCKET_PORT, type SocketDirectory } from './socket-directory.ts';

/*
 * A PostgreSQL server of our own, as a child process. The data directory then holds:
 *
 *   lock, lock.pid   one node at a time
 *   postgres/        the cluster, and the socket we connect to
 *   postgres.log     the server's log
 *
 * Everything after the lock is done by one node alone, and every step can be interrupted and done again.
 */
export interface EmbeddedPostgres {
  readonly connection: Connection;
  /**
   * Settles when the server process ends without stop() having been called (crash, kill -9): the program then
   * has to restart or exit. The data directory is free again by then.
   */
  readonly died: Promise<string>;
  /** Fast shutdown; waits for it. Can be called twice. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** The cluster goes to `<dataDir>/postgres`. */
  readonly dataDir: string;
  readonly log: Log;
  /** A directory with the programs to use instead of the ones that come with Posthorn. */
  readonly binaries?: string | undefined;
  /** More settings for the server, or other values for ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const DATABASE = 'posthorn';

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new StartupError(
      'there is no embedded PostgreSQL on Windows: set DATABASE_URL to a PostgreSQL server',
    );
  }
  const binaries = await (options.binaries === undefined ? locateBinaries() : binariesOf(options.binaries));
  const dataDir = await prepareDataDirectory(options.dataDir);
  const lock = await lockDataDirectory(dataDir);
  let socket: SocketDirectory | undefined;
  const cleanUp = async (): Promise<void> => {
    await socket?.discard();
    await lock.release();
  };
  try {
    const cluster = path.join(dataDir, 'postgres');
    const identity = await chooseIdentity(dataDir, cluster, binaries);
    const made = await prepareCluster(cluster, identity);
    const leftovers = await endLeftovers(cluster);
    if (leftovers > 0)
      options.log.warn({ processes: leftovers }, 'ended the server of a node that was killed');

    socket = await prepareSocketDirectory(dataDir, cluster, ownerUid(identity.runAs));
    const connection = { host: socket.path, port: SOCKET_PORT, user: SUPERUSER, database: DATABASE };
    const args = await serverArguments(cluster, socket.nameForServer, options.settings ?? {});
    const server = await startPostmaster({
      command: commandAs(identity.runAs, { file: identity.binaries.postgres, args, cwd: cluster }),
      cluster,
      logFile: path.join(dataDir, 'postgres.log'),
      onSlowStart: () =>
        options.log.warn({ dataDir }, 'the database is still recovering from an unclean stop'),
    });
    await ensureDatabase(connection).catch(async (error: unknown) => {
      await server.stop();
      throw error;
    });
    options.log.info(
      { dataDir, pid: server.pid, socket: socket.path, runs: identity.runAs.kind, cluster: made },
      'embedded PostgreSQL is ready',
    );
    return supervise(server, connection, cleanUp);
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** running -> stopping (stop) -> ended, or running -> died. Cleaned up once, whichever comes first. */
function supervise(
  server: Postmaster,
  connection: Connection,
  cleanUp: () => Promise<void>,
): EmbeddedPostgres {
  let stopping: Promise<void> | undefined;
  // A node that exits without stop() (an uncaught error) takes its server along; the kernel does the rest.
  process.once('exit', server.requestStop);
  const died = Promise.withResolvers<string>();
  const finish = async (): Promise<void> => {
    const how = await server.ended;
    process.off('exit', server.requestStop);
    await cleanUp();
    if (stopping === undefined) died.resolve(how);
  };
  const finished = finish();
  const stop = async (): Promise<void> => {
    await server.stop();
    await finished;
  };
  return {
    connection,
    died: died.promise,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

export async function prepareDataDirectory(configured: string): Promise<string> {
  const directory = path.resolve(configured);
  const remedy = 'set POSTHORN_DATA_DIR to a directory Posthorn may write';
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(directory);
  } catch (error) {
    throw new StartupError(`cannot use data directory ${directory}: ${(error as Error).message}; ${remedy}`, {
      cause: error,
    });
  }
}

async function serverArguments(
  cluster: string,
  socketDirectory: string,
  settings: Readonly<Record<string, string>>,
): Promise<string[]> {
  // Of a setting given twice the last counts; the name comes last, where endLeftovers looks for it.
  const all = [
    ...Object.entries(SERVER_SETTINGS),
    ...Object.entries(settings),
    ['port', SOCKET_PORT],
    // A list: quoted, since a path may hold commas and spaces.
    ['unix_socket_directories', `"${socketDirectory.replaceAll('"', '""')}"`],
    ['cluster_name', await clusterName(cluster)],
  ];
  return ['-D', nameFromWithin(cluster), ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
