/** The exit codes of the program. docs/cli.md describes them. */
export const EXIT = { done: 0, failed: 1, changes: 2, refused: 3, usage: 64 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * A reason why the program cannot start (or a command cannot run) that the operator can fix. `main.ts` prints
 * its message as one line and exits with its code. Any other error is a bug and keeps its stack.
 */
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
