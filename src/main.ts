import { runCommand } from './cli/commands.ts';
import { StartupError } from './platform/startup-error.ts';

/** argv in, exit code out. A StartupError is for the operator: one line. Anything else is a bug and keeps its stack. */
try {
  await runCommand(process.argv.slice(2), process.env);
} catch (error) {
  const isForOperator = error instanceof StartupError;
  process.stderr.write(
    `posthorn: ${isForOperator ? error.message : ((error as Error).stack ?? String(error))}\n`,
  );
  process.exit(1);
}
