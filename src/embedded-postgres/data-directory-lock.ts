import { open, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../platform/startup-error.ts';

/*
 * One node per data directory.
 *
 * The lock is a kernel file lock on `<dataDir>/lock`. It ends with the process in every case, does not depend
 * on process ids, and lets exactly one of two simultaneous starts win. Node itself cannot lock files. Its
 * built-in SQLite can (an exclusive transaction on an empty database), on every system we support.
 * `<dataDir>/lock.pid` only names the holder for the message. No decision depends on it.
 *
 * The kernel drops such a lock when the process closes any descriptor of the locked file, so no other code
 * here may open it. It is created with `wx`, which does not open an existing file.
 */
export interface DataDirectoryLock {
  release(): Promise<void>;
}

const SQLITE_BUSY = 5;

export async function lockDataDirectory(dataDir: string): Promise<DataDirectoryLock> {
  const lockFile = path.join(dataDir, 'lock');
  const holderFile = path.join(dataDir, 'lock.pid');
  let database: DatabaseSync | undefined;
  try {
    await createPrivateFile(lockFile);
    database = new DatabaseSync(lockFile, { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) {
      const holder = await holderOf(holderFile);
      throw new StartupError(
        `data directory ${dataDir} is in use by another Posthorn${holder === undefined ? '' : ` (pid ${holder})`}: ` +
          'stop it, or set POSTHORN_DATA_DIR to another directory',
        { cause: error },
      );
    }
    throw new StartupError(
      `cannot lock ${lockFile} (${(error as Error).message}): make ${dataDir} writable for Posthorn's user, ` +
        'or set POSTHORN_DATA_DIR to another directory',
      { cause: error },
    );
  }
  await writeFile(holderFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    async release() {
      await rm(holderFile, { force: true });
      database.close();
    },
  };
}

/** For work on the directory without a server of its own. */
export async function whileLocked<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const lock = await lockDataDirectory(dataDir);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function createPrivateFile(file: string): Promise<void> {
  try {
    await (await open(file, 'wx', 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
}

/** The holder writes its pid just after locking, so a rival that started at the same time reads it a few times. */
async function holderOf(holderFile: string): Promise<number | undefined> {
  for (let look = 0; look < 20; look++) {
    const pid = Number.parseInt(await readFile(holderFile, 'utf8').catch(() => ''), 10);
    if (pid > 0 && isAlive(pid)) return pid;
    await sleep(25);
  }
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
