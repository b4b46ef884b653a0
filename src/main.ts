import { printable } from './platform/printable.ts';
import { EXIT, StartupError } from './platform/startup-error.ts';

/** argv in, exit code out. A StartupError is for the operator: one line. Anything else is a bug and keeps its stack. */

// An installed package runs on any Node. bin/posthorn names the same version.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 7)) {
  process.stderr.write(`posthorn: this is Node ${process.versions.node}; install Node 24.7 or newer\n`);
  process.exit(EXIT.failed);
}

// A library looks for parts of Node that are experimental in 24. That is nothing for an operator. Other warnings stay.
const [showWarning] = process.listeners('warning');
process.removeAllListeners('warning').on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') showWarning?.(warning);
});

// `posthorn events | head` closes the pipe before everything is written. That is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.done);
});

try {
  // Read only now: an older Node cannot read all of it.
  const { runCommand } = await import('./cli/commands.ts');
  process.exitCode = await runCommand(process.argv.slice(2), process.env);
} catch (error) {
  const isForOperator = error instanceof StartupError;
  const text = isForOperator ? error.message : ((error as Error).stack ?? String(error));
  // A message may quote a file or an answer.
  process.stderr.write(`posthorn: ${text.split('\n').map(printable).join('\n')}\n`);
  process.exit(isForOperator ? error.exitCode : EXIT.failed);
}
