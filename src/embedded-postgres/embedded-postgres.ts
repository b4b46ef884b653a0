import { access, constants, mkdir, readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';
import { binariesOf, locateBinaries } from './binaries.ts';
import { chooseIdentity } from './choose-identity.ts';
import { prepareCluster, SUPERUSER } from './cluster.ts';
import { lockDataDirectory } from './data-directory-lock.ts';
import { type Connection, canConnect, ensureDatabase } from './ensure-database.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';
import { commandAs, nameFromWithin, ownerUid } from './run-as.ts';
import { clusterName, endLeftovers } from './server-processes.ts';
import { serverSettings } from './server-settings.ts';
import { prepareSocketDirectory, SOCKET_PORT, type SocketDirectory } from './socket-directory.ts';

/*
 * A PostgreSQL server of our own, as a child process. The data directory contains:
 *   lock, lock.pid   one node at a time
 *   postgres/        the cluster, and the socket we connect to
 *   postgres.log     the server's log
 *
 * Every step after the lock runs in one node only, and can be interrupted and repeated.
 */
export interface EmbeddedPostgres {
  readonly connection: Connection;
  /**
   * Settles when the server process ends without stop() (crash, kill -9). The program must then restart it or
   * exit. The data directory is unlocked by then.
   */
  readonly died: Promise<string>;
  /** Fast shutdown, and waits for it. Safe to call twice. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** The cluster is in `<dataDir>/postgres`. */
  readonly dataDir: string;
  readonly log: Log;
  /** A directory with the programs to use instead of the bundled ones. */
  readonly binaries?: string | undefined;
  /** More settings for the server, or other values for ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** `host`: the directory of the socket. */
const connectionAt = (host: string): Connection => ({
  host,
  port: SOCKET_PORT,
  user: SUPERUSER,
  database: 'posthorn',
});

/** The server that a node currently runs on this data directory, if there is one and it accepts our connection. */
export async function findRunningServer(dataDir: string): Promise<Connection | undefined> {
  const recorded = await readFile(path.join(dataDir, 'socket-directory'), 'utf8').catch(() => '');
  const connection = connectionAt(recorded.trim() || path.resolve(dataDir, 'postgres'));
  return (await canConnect(connection)) ? connection : undefined;
}

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
    if (leftovers > 0) options.log.warn({ processes: leftovers }, 'ended the server of a killed node');

    socket = await prepareSocketDirectory(dataDir, cluster, ownerUid(identity.runAs));
    const connection = connectionAt(socket.path);
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

/** running -> stopping (stop) -> ended, or running -> died. Cleanup runs once. */
function supervise(
  server: Postmaster,
  connection: Connection,
  cleanUp: () => Promise<void>,
): EmbeddedPostgres {
  let stopping: Promise<void> | undefined;
  // A node that exits without stop() (an uncaught error) stops its server too. The kernel does the rest.
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
  // PostgreSQL uses the last of duplicate settings. The name comes last, where endLeftovers looks for it.
  const all = [
    ...Object.entries(serverSettings()),
    ...Object.entries(settings),
    ['port', SOCKET_PORT],
    // This setting is a list. The path is quoted because it may contain commas and spaces.
    ['unix_socket_directories', `"${socketDirectory.replaceAll('"', '""')}"`],
    ['cluster_name', await clusterName(cluster)],
  ];
  return ['-D', nameFromWithin(cluster), ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
