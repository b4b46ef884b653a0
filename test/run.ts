import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * `node test/run.ts [SET]... [FILE OR OPTION OF VITEST]...` runs sets of tests, or the files of them whose path has FILE,
 * in a temporary directory of their own. All that they start has its name as TMPDIR or works in it. So after the run, also
 * after Ctrl+C, the processes that are left over are found and ended, and the directory is removed.
 */
const ROOT = join(import.meta.dirname, '..');
/** The databases and brokers write gigabytes. In memory that costs no wait for the disk. */
const MEMORY = '/dev/shm';
const MEMORY_BYTES = 8e9;

function makeRunDirectory(): string {
  const inMemory = process.platform === 'linux' && freeBytes(MEMORY) > MEMORY_BYTES;
  // The name is short, because the path of a socket has at most 107 bytes.
  const directory = mkdtempSync(join(inMemory ? MEMORY : tmpdir(), 'pt-'));
  // Some tests start programs as another user.
  chmodSync(directory, 0o1777);
  return directory;
}

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

/** The processes that work in the directory or have it in their environment. Only Linux shows that. */
function processesOf(directory: string): number[] {
  if (process.platform !== 'linux') return [];
  const isOurs = (pid: string): boolean => {
    try {
      return (
        readlinkSync(`/proc/${pid}/cwd`).startsWith(`${directory}/`) ||
        readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`TMPDIR=${directory}\0`)
      );
    } catch {
      // It ended, or belongs to another user.
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isOurs(name))
    .map(Number);
}

function endAll(directory: string): void {
  // Again and again: a process may have started another one meanwhile.
  for (let left = processesOf(directory); left.length > 0; left = processesOf(directory))
    for (const pid of left) end(pid);
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

// vitest ignores a file after two dashes, and would run everything.
const args = process.argv.slice(2).filter((arg) => arg !== '--');
const isSet = (arg: string): boolean => ['unit', 'service', 'more'].includes(arg);
const sets = args.filter(isSet).flatMap((set) => ['--project', set]);
const rest = args.filter((arg) => !isSet(arg));

const directory = makeRunDirectory();
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const child = spawn(process.execPath, [vitest, 'run', ...sets, ...rest], {
  cwd: ROOT,
  stdio: 'inherit',
  env: {
    ...process.env,
    TMPDIR: directory,
    // Only a run of all of them can say that no test is missing.
    ...(rest.length === 0 && { TEST_SETS: args.join(' ') }),
  },
});
const ended = once(child, 'exit') as Promise<[number | null]>;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    child.kill('SIGKILL');
  });
const [code] = await ended;
endAll(directory);
rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
process.exitCode = code ?? 130;
