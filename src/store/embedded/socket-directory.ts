import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StartupError } from '../../domain/startup-error.ts';

/*
 * The directory of the server's unix socket. Whoever can enter it can connect without a password, so it is 0700
 * and belongs to the server's user. It is `<dataDir>/socket`; where that makes a socket path longer than the
 * kernel takes, it is a private directory with a short name, named in `<dataDir>/socket-directory` so that the
 * next start (perhaps with another TMPDIR) and the operator find it.
 */
export const SOCKET_PORT = 5432;

const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;
/** sockaddr_un.sun_path without its closing zero: 108 bytes on Linux, 104 on macOS and the BSDs. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** A fresh, empty one: what a killed server left in it is gone. */
export async function prepareSocketDirectory(dataDir: string, serverUid: number): Promise<string> {
  const directory = await chooseSocketDirectory(dataDir);
  const before = await lstat(directory).catch(() => undefined);
  const ours = before?.uid === process.geteuid?.() || before?.uid === serverUid;
  if (before !== undefined && !ours && path.dirname(directory) !== dataDir) {
    throw new StartupError(
      `${directory} belongs to somebody else, so the database's socket cannot go there: ` +
        'remove it, or set POSTHORN_DATA_DIR to a directory with a shorter path',
    );
  }
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { mode: 0o700 });
  if (serverUid !== process.geteuid?.()) await chown(directory, serverUid, -1);
  return directory;
}

/** Removes the directory if it lies outside the data directory; call when the server has ended. */
export async function discardSocketDirectory(dataDir: string, directory: string): Promise<void> {
  if (path.dirname(directory) === dataDir) return;
  await rm(directory, { recursive: true, force: true });
  await rm(recordFile(dataDir), { force: true });
}

async function chooseSocketDirectory(dataDir: string): Promise<string> {
  const inside = path.join(dataDir, 'socket');
  if (fits(inside)) return inside;

  const recorded = (await readFile(recordFile(dataDir), 'utf8').catch(() => '')).trim();
  const name = `posthorn-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;
  const outside = [recorded, path.join(tmpdir(), name), path.join('/tmp', name)].find(
    (candidate) => path.basename(candidate) === name && path.isAbsolute(candidate) && fits(candidate),
  );
  if (outside === undefined) {
    throw new StartupError(
      `the path of data directory ${dataDir} is too long for a unix socket: set POSTHORN_DATA_DIR to a shorter one`,
    );
  }
  await writeFile(recordFile(dataDir), `${outside}\n`, { mode: 0o600 });
  return outside;
}

function fits(directory: string): boolean {
  return Buffer.byteLength(path.join(directory, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES;
}

function recordFile(dataDir: string): string {
  return path.join(dataDir, 'socket-directory');
}
