import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a command of the program to its end. Only the given environment is set, so no profile of the user is read. It runs
 * at the root of the file system, where no service was started: a folder with `.posthorn` gives commands their defaults.
 */
export async function runPosthorn(
  args: readonly string[],
  { env = {}, input = '', cwd = '/' }: { env?: Record<string, string>; input?: string; cwd?: string } = {},
): Promise<CommandResult> {
  const { PATH = '', NODE_COMPILE_CACHE = '', TMPDIR = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH, NODE_COMPILE_CACHE, ...(TMPDIR !== '' && { TMPDIR }), HOME: '/nonexistent', ...env },
    cwd,
  });
  const result = { stdout: '', stderr: '' };
  child.stdout.on('data', (text: Buffer) => {
    result.stdout += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    result.stderr += text.toString();
  });
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...result };
}
