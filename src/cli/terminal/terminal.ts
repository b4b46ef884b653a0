import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable, Writable } from 'node:stream';

/** Where a command reads, writes and is interrupted: the process, or streams of a caller that runs commands in its own. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean };
  readonly stderr: Writable & { isTTY?: boolean };
  once(signal: 'SIGINT' | 'SIGTERM', stop: () => void): unknown;
}

const current = new AsyncLocalStorage<Terminal>();

/** Runs `work` with its own terminal. Commands that run at the same time do not mix their output. */
export const onTerminal = <T>(terminal: Terminal, work: () => Promise<T>): Promise<T> =>
  current.run(terminal, work);

/** The terminal of the command that runs. */
export const terminal = (): Terminal => current.getStore() ?? process;
