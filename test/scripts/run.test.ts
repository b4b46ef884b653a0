import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const FILE = 'src/platform/csv.test.ts';

test('the runner of tests runs a file alone, also after two dashes', async () => {
  const { TEST_REPORT: _report, TEST_SETS: _sets, ...env } = process.env;
  const args = ['test/run.ts', '--', FILE, '--no-color'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  expect(stdout).toMatch(/Test Files +1 passed \(1\)/);
});
