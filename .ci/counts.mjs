// Reads reports of vitest. `failed REPORT...` prints the files with a failure, if they are few. `count STATUS REPORT...
// [--again REPORT]` prints each test that failed first and passed alone, and at last `N passed, N failed`. A file of the
// report after --again counts as it ended there.
import { readFileSync } from 'node:fs';

/** More than this is no accident of a busy machine. */
const MAX_FILES = 4;

const [command, ...args] = process.argv.slice(2);

/** A run that a check stopped before its tests has an empty report. */
function filesOf(paths) {
  const texts = paths.map((path) => readFileSync(path, 'utf8')).filter((text) => text !== '');
  return new Map(texts.flatMap((text) => JSON.parse(text).testResults).map((file) => [file.name, file]));
}

const testsOf = (file, status) => file.assertionResults.filter((test) => test.status === status);

if (command === 'failed') {
  const failed = [...filesOf(args).values()].filter(({ status }) => status === 'failed');
  if (failed.length <= MAX_FILES) for (const { name } of failed) process.stdout.write(`${name}\n`);
} else {
  const [status, ...paths] = args;
  const at = paths.indexOf('--again');
  const first = filesOf(at === -1 ? paths : paths.slice(0, at));
  const again = filesOf(at === -1 ? [] : paths.slice(at + 1));
  for (const [name, file] of again)
    if (file.status === 'passed')
      for (const line of flakyLines(name, first.get(name))) process.stdout.write(line);
  const files = [...new Map([...first, ...again]).values()];
  const sum = (wanted) => files.reduce((total, file) => total + testsOf(file, wanted).length, 0);
  // A check that stopped the run counts as one failure.
  const failed = Math.max(sum('failed'), status === '0' ? 0 : 1);
  process.stdout.write(`${sum('passed')} passed, ${failed} failed\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** A file can fail without a test, in its set-up. */
function flakyLines(name, file) {
  const failed = testsOf(file, 'failed').map((test) => [test.fullName, test.failureMessages[0] ?? '']);
  const reasons = failed.length > 0 ? failed : [['the file as a whole', file.message]];
  return reasons.map(([test, reason]) => `flaky: ${name}: ${test}: ${String(reason).split('\n')[0]}\n`);
}
