import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';

/*
 * The directory of the server's unix socket. Any process that can enter it can connect without a password, so
 * it is 0700 and belongs to the server's user. It is the cluster's own directory. If that makes the socket
 * path too long for the kernel, it is a private directory with a short name. `<dataDir>/socket-directory` has
 * that name, so that the next start (perhaps with another TMPDIR) and the operator find it.
 */
export const SOCKET_PORT = 5432;

const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;
/** sockaddr_un.sun_path without its closing zero: 108 bytes on Linux, 104 on macOS and the BSDs. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

export interface SocketDirectory {
  /** The path for clients. */
  readonly path: string;
  /** The path for the server, whose working directory is its cluster. */
  readonly nameForServer: string;
  /** Call when the server has ended. */
  discard(): Promise<void>;
}

/** Removes the socket of a killed server. */
export async function prepareSocketDirectory(
  dataDir: string,
  cluster: string,
  serverUid: number,
): Promise<SocketDirectory> {
  if (fits(cluster)) {
    await rm(path.join(cluster, SOCKET_NAME), { force: true });
    await rm(path.join(cluster, `${SOCKET_NAME}.lock`), { force: true });
    return { path: cluster, nameForServer: '.', discard: async () => {} };
  }
  const record = path.join(dataDir, 'socket-directory');
  const recorded = (await readFile(record, 'utf8').catch(() => '')).trim();
  const directory = shortDirectory(dataDir, recorded);
  await makePrivate(directory, serverUid);
  await writeFile(record, `${directory}\n`, { mode: 0o600 });
  return {
    path: directory,
    nameForServer: directory,
    async discard() {
      await rm(directory, { recursive: true, force: true });
      await rm(record, { force: true });
    },
  };
}

function shortDirectory(dataDir: string, recorded: string): string {
  const name = `posthorn-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;
  const directory = [recorded, path.join(tmpdir(), name), path.join('/tmp', name)].find(
    (candidate) => path.basename(candidate) === name && path.isAbsolute(candidate) && fits(candidate),
  );
  if (directory === undefined) {
    throw new StartupError(
      `the path of data directory ${dataDir} is too long for a unix socket: set POSTHORN_DATA_DIR to a shorter one`,
    );
  }
  return directory;
}

async function makePrivate(directory: string, serverUid: number): Promise<void> {
  const before = await lstat(directory).catch(() => undefined);
  if (before !== undefined && before.uid !== process.geteuid?.() && before.uid !== serverUid) {
    throw new StartupError(
      `${directory} belongs to another user, so the database's socket cannot go there: ` +
        'remove it, or set POSTHORN_DATA_DIR to a directory with a shorter path',
    );
  }
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { mode: 0o700 });
  if (serverUid !== process.geteuid?.()) await chown(directory, serverUid, -1);
}

function fits(directory: string): boolean {
  return Buffer.byteLength(path.join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
}
