import type { Stats } from 'node:fs';
import { access, chown, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StartupError } from '../platform/startup-error.ts';
import { type Binaries, copyBinaries } from './binaries.ts';
import { commandAs, nameFromWithin, type RunAs, runToEnd } from './run-as.ts';

/*
 * The identity under which the server runs.
 *
 * PostgreSQL refuses to run as root and must own its cluster. A node that is not root runs it as itself. A
 * node that is root tries these for a new cluster, each by really writing and running under that identity:
 * 1. The user who owns the data directory, if that is not root; the user `posthorn` if it exists; `nobody`.
 * 2. The same with a copy of the binaries elsewhere, for a checkout that only root may enter.
 * 3. Root under another number: a user namespace in which the kernel's root is an ordinary user without
 *    capabilities. This is for file systems on which root cannot change owners. It also serves a node whose
 *    uid has no name (containers started with a bare number), since initdb needs a name.
 *
 * Later starts use the cluster's owner (root means 3). We never change the owner of a tree as root, because a
 * user with write access could redirect us outside of it with a link.
 */
/** Places where the server's user can read a copy. The first is not emptied by cleaners of temporary files. */
const PLACES_FOR_BINARIES = ['/var/cache', tmpdir(), '/tmp'];

export interface Identity {
  readonly runAs: RunAs;
  readonly binaries: Binaries;
  readonly majorVersion: string;
}

export async function chooseIdentity(dataDir: string, cluster: string, found: Binaries): Promise<Identity> {
  const existing = await stat(cluster).catch(() => undefined);
  const candidates = await listCandidates(dataDir, existing);
  // Only initdb needs a user name.
  const script = existing === undefined ? PROBE_NAME + PROBE : PROBE;
  const failures = new Set<string>();
  const attempt = async (runAs: RunAs, binaries: Binaries): Promise<Identity | undefined> => {
    const tried = await tryIdentity(path.join(dataDir, 'postgres-probe'), script, runAs, binaries);
    if (tried.works) return { runAs, binaries, majorVersion: tried.majorVersion };
    failures.add(tried.why);
    return undefined;
  };
  for (const runAs of candidates) {
    const direct = await attempt(runAs, found);
    if (direct !== undefined) return direct;
    if (runAs.kind !== 'user') continue;
    for (const place of PLACES_FOR_BINARIES) {
      const copy = await copyBinaries(found, place).catch((error: Error) => error);
      if (copy instanceof Error) {
        failures.add(copy.message);
        continue;
      }
      const copied = await attempt(runAs, copy);
      if (copied !== undefined) return copied;
      await rm(copy.root, { recursive: true, force: true });
    }
  }
  throw new StartupError(
    explainFailure(dataDir, [...failures], existing === undefined ? undefined : cluster),
  );
}

function explainFailure(dataDir: string, failures: readonly string[], cluster: string | undefined): string {
  const reasons = failures.join('; ');
  if (!isRoot()) {
    return `the embedded PostgreSQL cannot run here (${reasons}): set DATABASE_URL to a PostgreSQL server`;
  }
  const remedy =
    cluster === undefined
      ? 'set POSTHORN_DATA_DIR to a directory on another file system (such as /var/lib/posthorn)'
      : `give ${cluster} to another user (chown -R nobody)`;
  return (
    `PostgreSQL does not run as root, and no other identity can use ${dataDir} (${reasons}): ` +
    `${remedy}, run Posthorn as another user, or set DATABASE_URL to a PostgreSQL server`
  );
}

async function listCandidates(dataDir: string, cluster: Stats | undefined): Promise<RunAs[]> {
  const users = await readUsers();
  const someone = [...users.values()].find((user) => user.uid > 0);
  const namespace: RunAs[] = someone === undefined ? [] : [{ kind: 'namespace', ...someone }];
  const owner = cluster ?? (await stat(dataDir));
  if (!isRoot()) {
    if (cluster !== undefined && owner.uid !== process.geteuid?.()) {
      throw new StartupError(
        `the database in ${dataDir} belongs to uid ${owner.uid}: run Posthorn as that user, ` +
          'or set POSTHORN_DATA_DIR to another directory',
      );
    }
    return [{ kind: 'self' }, ...namespace];
  }
  const asOwner: RunAs[] = owner.uid === 0 ? [] : [{ kind: 'user', uid: owner.uid, gid: owner.gid }];
  if (cluster !== undefined) return owner.uid === 0 ? namespace : asOwner;
  const named = ['posthorn', 'nobody'].flatMap((name) => users.get(name) ?? []);
  const ordinary = named.filter((user) => user.uid > 0).map((user): RunAs => ({ kind: 'user', ...user }));
  return [...asOwner, ...ordinary, ...namespace];
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

async function readUsers(): Promise<Map<string, { uid: number; gid: number }>> {
  const users = new Map<string, { uid: number; gid: number }>();
  for (const line of (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name && uid && gid) users.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  return users;
}

type Tried = { works: true; majorVersion: string } | { works: false; why: string };

const PROBE = ': > "$1/written" && exec "$2" --version';
const PROBE_NAME = 'id -un > /dev/null && ';

/** Under that identity: writes in `room`, a directory of its own, and runs the binary. */
async function tryIdentity(room: string, script: string, runAs: RunAs, binaries: Binaries): Promise<Tried> {
  try {
    await rm(room, { recursive: true, force: true });
    await mkdir(room, { mode: 0o700 });
    if (runAs.kind === 'user') await chown(room, runAs.uid, runAs.gid);
    const args = ['-c', script, 'probe', nameFromWithin(room), binaries.postgres];
    const probe = runToEnd(commandAs(runAs, { file: '/bin/sh', args, cwd: room }));
    const version = /\(PostgreSQL\) (\d+)/.exec(probe.stdout ?? '')?.[1];
    if (probe.status === 0 && version !== undefined) {
      await access(path.join(room, 'written')); // We must be able to read the server's files.
      return { works: true, majorVersion: version };
    }
    const said = (probe.error?.message ?? probe.stderr).trim().split('\n').at(-1) ?? '';
    return { works: false, why: `${describe(runAs)}: ${said || `exit code ${probe.status}`}` };
  } catch (error) {
    return { works: false, why: `${describe(runAs)}: ${(error as Error).message}` };
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}

function describe(runAs: RunAs): string {
  if (runAs.kind === 'self') return 'as this user';
  return runAs.kind === 'user' ? `as uid ${runAs.uid}` : 'in a user namespace';
}
