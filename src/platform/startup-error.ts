/**
 * A reason why the program cannot start (or a command cannot run) that the operator can fix. `main.ts` prints
 * its message as one line and exits with 1. Any other error is a bug and keeps its stack.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
