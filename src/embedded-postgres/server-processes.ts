import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../platform/startup-error.ts';

/*
 * Finds and ends processes that an earlier node left running on a cluster. Call only with the data
 * directory's lock.
 *
 * A node killed with -9 leaves its whole server. A server killed with -9 can leave backends in the middle of
 * a statement, which keep the shared memory and so block the next server. All of them have the cluster's name
 * in their command line (the postmaster in its arguments, the others in their title). The name comes from the
 * directory's device and inode. It survives a rename of the directory, differs for a copy of it, and does not
 * depend on process ids, which may have been reused.
 */
const FAST_SHUTDOWN_MS = 30_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;

export async function clusterName(cluster: string): Promise<string> {
  const { dev, ino } = await stat(cluster);
  return `posthorn-${dev}-${ino}`;
}

interface ServerProcess {
  readonly pid: number;
  readonly role: 'postmaster' | 'child';
}

/** Ends every process of that cluster. Returns how many there were. */
export async function endLeftovers(cluster: string): Promise<number> {
  const name = await clusterName(cluster);
  const found = listServerProcesses(name);
  if (found.length > 0) {
    // A child looks like its postmaster for a moment after the fork. It may get the signal too.
    const postmasters = found.filter(({ role }) => role === 'postmaster');
    for (const { pid } of postmasters) signal(pid, 'SIGINT');
    if (postmasters.length === 0) for (const { pid } of found) signal(pid, 'SIGQUIT');

    if (!(await allGone(name, FAST_SHUTDOWN_MS))) {
      for (const { pid } of listServerProcesses(name)) signal(pid, 'SIGQUIT');
      if (!(await allGone(name, IMMEDIATE_SHUTDOWN_MS))) {
        throw new StartupError(
          `processes of an earlier Posthorn still run on ${cluster} and do not end ` +
            `(pids ${listServerProcesses(name)
              .map(({ pid }) => pid)
              .join(', ')}): end them`,
        );
      }
    }
  }
  await forgetStrangersPid(cluster);
  return found.length;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function allGone(name: string, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (listServerProcesses(name).length > 0) {
    if (performance.now() > until) return false;
    await sleep(25);
  }
  return true;
}

function listServerProcesses(name: string): ServerProcess[] {
  return listCommandLines().flatMap(({ pid, words }): ServerProcess[] => {
    if (words.startsWith(`postgres: ${name}: `)) return [{ pid, role: 'child' }];
    // The name is the last of a server's arguments.
    const isPostmaster = words.includes('/postgres -D ') && words.endsWith(` cluster_name=${name} `);
    return isPostmaster ? [{ pid, role: 'postmaster' }] : [];
  });
}

/** Every process and its command line with single spaces, from /proc if it exists, else from ps. */
function listCommandLines(): { pid: number; words: string }[] {
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
    return pids.map((pid) => ({ pid: Number(pid), words: commandLineOf(Number(pid)) }));
  }
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, words] = /^\s*(\d+) (.*)$/.exec(line) ?? [];
    return pid === undefined || words === undefined ? [] : [{ pid: Number(pid), words: `${words} ` }];
  });
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // It has ended.
  }
}

/**
 * PostgreSQL refuses to start while the pid in `postmaster.pid` is alive, even if it was reused. With none of
 * our processes left, it is an unrelated process or an ended server that was not reaped. The file is removed,
 * unless the process is a PostgreSQL server that Posthorn did not start.
 */
async function forgetStrangersPid(cluster: string): Promise<void> {
  const file = path.join(cluster, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10);
  if (!(pid > 0)) return;
  const words = listCommandLines().find((one) => one.pid === pid)?.words;
  if (words === undefined) return;
  if (/^\S*postgres[ :]/.test(words) && (words.includes(cluster) || workingDirectoryOf(pid) === cluster)) {
    throw new StartupError(
      `a PostgreSQL server that Posthorn did not start (pid ${pid}) runs on ${cluster}: stop it first`,
    );
  }
  await rm(file, { force: true });
}

function workingDirectoryOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // No /proc, or no permission.
  }
}
