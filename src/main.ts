import { EXIT, failureOf } from './platform/startup-error.ts';

/** argv in, exit code out. */

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
  process.exitCode = await runCommand(process.argv.slice(2), process);
} catch (error) {
  const { text, exitCode } = failureOf(error);
  process.stderr.write(text);
  process.exit(exitCode);
}
