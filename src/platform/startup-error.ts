/**
 * A reason why the program cannot start (or a command cannot run) that the operator can act on.
 * `main.ts` prints its message as one line and exits with 1; any other error is a bug and keeps its stack.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
