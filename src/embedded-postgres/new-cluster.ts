import { existsSync } from 'node:fs';
import { chown, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';
import { syncDirectory } from '../platform/whole-file.ts';
import { clustersAside, nameAside, removeUnfinished, versionOf } from './cluster.ts';
import { whileLocked } from './data-directory-lock.ts';
import {
  type EmbeddedPostgresOptions,
  prepareDataDirectory,
  startEmbeddedPostgres,
} from './embedded-postgres.ts';
import type { Connection } from './ensure-database.ts';

/*
 * A cluster that is created under a temporary name, filled, stopped and then renamed:
 *   <dataDir>/postgres.new-XXXXXX/postgres   while it is being filled; the next start removes leftovers
 *   <dataDir>/postgres                       when it is complete and synced
 *
 * It is inside the data directory, which is often a file system of its own, because a rename cannot cross
 * file systems. No other process can use the data directory meanwhile: a restore has its lock, and in an
 * upgrade the old server has it.
 */
type Options = Pick<EmbeddedPostgresOptions, 'dataDir' | 'log'>;

/** Files that may exist before: keys placed for the restore, and traces of a refused restore. */
const MAY_BE_THERE = /^(secret\.key|credentials\.json|postgres\.log|lock|lock\.pid|lock-journal)$/;

/** Restores into a data directory without a database. */
export async function restoreCluster(
  options: Options,
  fill: (connection: Connection) => Promise<void>,
): Promise<void> {
  const dataDir = await prepareDataDirectory(options.dataDir);
  await whileLocked(dataDir, async () => {
    const cluster = path.join(dataDir, 'postgres');
    await removeUnfinished(cluster);
    const other = (await readdir(dataDir)).find((name) => !MAY_BE_THERE.test(name));
    if (other !== undefined)
      throw new StartupError(
        `${dataDir} is not empty (${other}): a backup is restored into a new data directory; set POSTHORN_DATA_DIR to one`,
      );
    await inNewCluster({ ...options, dataDir }, fill, (made) => rename(made, cluster));
  });
}

/**
 * Upgrades the cluster of an older PostgreSQL, whose programs are in `binaries`. Returns the path of the old
 * cluster.
 */
export async function upgradeCluster(
  options: Options & { binaries: string },
  move: (from: Connection, to: Connection) => Promise<void>,
): Promise<string> {
  const dataDir = await prepareDataDirectory(options.dataDir);
  const cluster = path.join(dataDir, 'postgres');
  await whileLocked(dataDir, () => putBack(cluster));
  const version = await versionOf(cluster);
  if (version === undefined) throw new StartupError(`there is no database in ${dataDir}`);
  const aside = nameAside(cluster, version);
  if (existsSync(aside))
    throw new StartupError(`${aside} is there from an earlier upgrade: remove it or move it away first`);
  const old = await startEmbeddedPostgres({ ...options, dataDir });
  const fill = (connection: Connection) => move(old.connection, connection);
  try {
    await inNewCluster({ dataDir, log: options.log }, fill, async (made) => {
      await old.stop();
      await whileLocked(dataDir, async () => {
        await rename(cluster, aside);
        await rename(made, cluster);
      });
    });
  } finally {
    await old.stop();
  }
  return aside;
}

/** After an upgrade that was killed between its two renames. */
async function putBack(cluster: string): Promise<void> {
  const [aside] = await clustersAside(cluster);
  if (aside !== undefined && (await versionOf(cluster)) === undefined) await rename(aside, cluster);
}

async function inNewCluster(
  { dataDir, log }: Options,
  fill: (connection: Connection) => Promise<void>,
  putInPlace: (made: string) => Promise<void>,
): Promise<void> {
  const room = await mkdtemp(path.join(dataDir, 'postgres.new-'));
  try {
    // As root: the server must run under the identity it would have in the data directory itself.
    const owner = await stat(dataDir);
    if (process.geteuid?.() === 0) await chown(room, owner.uid, owner.gid);
    const server = await startEmbeddedPostgres({ dataDir: room, log });
    try {
      await fill(server.connection);
    } finally {
      await server.stop();
    }
    await putInPlace(path.join(room, 'postgres'));
    await syncDirectory(dataDir);
  } finally {
    await rm(room, { recursive: true, force: true, maxRetries: 5 });
  }
}
