import { printable } from './printable.ts';

/** The exit codes of the program. docs/cli.md describes them. */
export const EXIT = { done: 0, failed: 1, changes: 2, refused: 3, usage: 64 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A reason why the program cannot start (or a command cannot run) that the operator can fix. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
  readonly exitCode: ExitCode;

  constructor(message: string, options: ErrorOptions & { exitCode?: ExitCode } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** The command line itself is wrong. */
export function usageError(message: string): StartupError {
  return new StartupError(message, { exitCode: EXIT.usage });
}

/** How a failed command ends: one line for the operator, or the stack of a bug. Either may quote a file or an answer. */
export function failureOf(error: unknown): { text: string; exitCode: ExitCode } {
  const isForOperator = error instanceof StartupError;
  const text = isForOperator ? error.message : ((error as Error).stack ?? String(error));
  return {
    text: `posthorn: ${text.split('\n').map(printable).join('\n')}\n`,
    exitCode: isForOperator ? error.exitCode : EXIT.failed,
  };
}
