import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { inject } from 'vitest';
import { asAdmin } from '../database.ts';

/** A file system of its own for a database. Only root may mount it. */
export interface SmallDisk {
  tablespace: string;
  fill(): void;
  empty(): void;
  /** The databases in it must be dropped before. */
  stop(): Promise<void>;
}

const BYTES = 64_000_000;

/** Null: this machine does not let us. */
export async function smallDisk(): Promise<SmallDisk | null> {
  const directory = mkdtempSync(join(tmpdir(), 'posthorn-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${BYTES},mode=0700`, 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    rmdirSync(directory);
    return null;
  }
  const { uid, gid } = statSync(inject('postgres').host);
  chownSync(directory, uid, gid);
  const tablespace = basename(directory).toLowerCase().replaceAll(/\W/g, '_');
  const filling = join(directory, 'filling');
  await asAdmin(`create tablespace ${tablespace} location '${directory}'`);
  return {
    tablespace,
    fill: () => {
      // The last bytes too: a page of a table is 8 kB.
      for (const size of [1_000_000, 4_096])
        for (let isFull = false; !isFull; ) isFull = !hasWritten(filling, size);
    },
    empty: () => rmSync(filling),
    stop: async () => {
      await asAdmin(`drop tablespace ${tablespace}`);
      execFileSync('umount', [directory]);
      rmdirSync(directory);
    },
  };
}

function hasWritten(file: string, size: number): boolean {
  try {
    writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
