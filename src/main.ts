import { runCommand } from './cli/commands.ts';
import { EXIT, StartupError } from './platform/startup-error.ts';

/** argv in, exit code out. A StartupError is for the operator: one line. Anything else is a bug and keeps its stack. */

// `posthorn events | head` closes the pipe before everything is written. That is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.done);
});

try {
  process.exitCode = await runCommand(process.argv.slice(2), process.env);
} catch (error) {
  const isForOperator = error instanceof StartupError;
  process.stderr.write(
    `posthorn: ${isForOperator ? error.message : ((error as Error).stack ?? String(error))}\n`,
  );
  process.exit(isForOperator ? error.exitCode : EXIT.failed);
}
