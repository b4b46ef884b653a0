import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { completeLimits, functionVersion, logLimits } from '../../src/sandbox/contract.ts';
import { Sandbox } from '../../src/sandbox/sandbox.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/functions.md'), 'utf8');
const examples = [...page.matchAll(/^```js\n(.*?)^```\n\n```json\n(.*?)^```\n\n```json\n(.*?)^```$/gms)].map(
  ([, code = '', input = '', output = '']) => ({ code, input, output }),
);
const sandbox = new Sandbox({ processes: 1 });

afterAll(() => sandbox.close());

test('every function of docs/functions.md has an input and an output', () => {
  expect(examples.length).toBeGreaterThanOrEqual(4);
  expect(page.match(/^```js$/gm)).toHaveLength(examples.length);
});

test.each(examples)('the function of docs/functions.md makes $output', async ({ code, input, output }) => {
  const call = { code, version: functionVersion(code), tenant: 'docs', input, seed: 'docs', nowMs: 0 };
  const result = await sandbox.run(call);
  if (!result.ok) throw new Error(result.message);
  expect(JSON.parse(result.output)).toEqual(JSON.parse(output));
});

test('the limits of docs/functions.md are the real ones', () => {
  const { cpuMs, heapBytes, outputBytes } = completeLimits();
  expect(page).toContain(`| CPU time of a run | ${cpuMs} ms |`);
  expect(page).toContain(`| memory | ${heapBytes / 1024 / 1024} MiB |`);
  expect(page).toContain(`| returned JSON | ${outputBytes / 1024 / 1024} MiB |`);
  expect(page).toContain(`| console | ${logLimits.lines} lines, ${logLimits.chars / 1024} KiB;`);
});
