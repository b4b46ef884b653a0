// Reads reports of vitest. `failed REPORT` prints the files with a failure, if they are few. `count STATUS REPORT
// [SECOND]` prints `N passed, N failed`; a file of the second report counts as it ended there.
import { readFileSync } from 'node:fs';

/** More than this is no accident of a busy machine. */
const MAX_FILES = 4;

const [command, ...args] = process.argv.slice(2);

/** A run that a check stopped before its tests has an empty report. */
function filesOf(path) {
  const text = readFileSync(path, 'utf8');
  return new Map((text === '' ? [] : JSON.parse(text).testResults).map((file) => [file.name, file]));
}

const withStatus = (file, status) => file.assertionResults.filter((test) => test.status === status).length;

if (command === 'failed') {
  const failed = [...filesOf(args[0]).values()].filter(({ status }) => status === 'failed');
  if (failed.length <= MAX_FILES) for (const { name } of failed) process.stdout.write(`${name}\n`);
} else {
  const [status, first, second] = args;
  const files = [...new Map([...filesOf(first), ...(second === undefined ? [] : filesOf(second))]).values()];
  const sum = (wanted) => files.reduce((total, file) => total + withStatus(file, wanted), 0);
  // A check that stopped the run counts as one failure.
  const failed = Math.max(sum('failed'), status === '0' ? 0 : 1);
  process.stdout.write(`${sum('passed')} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
