import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { requestLimits } from '../../src/routing/function-request.ts';
import { callFunction } from '../../src/routing/run-function.ts';
import { completeLimits, logLimits } from '../../src/sandbox/contract.ts';
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
  const called = { code, variables: { SHOP_TOKEN: 'shop-token' } };
  const event = { projectId: 'docs', eventId: 'docs', eventType: 'order.paid', input, nowMs: 0 };
  const result = await callFunction(sandbox, called, event);
  if (!result.ok) throw new Error(result.message);
  expect(JSON.parse(result.output)).toEqual(JSON.parse(output));
});

test('the limits of docs/functions.md are the real ones', () => {
  const { cpuMs, heapBytes, outputBytes } = completeLimits();
  expect(page).toContain(`|CPU time of a run|${cpuMs} ms|`);
  expect(page).toContain(`|memory|${heapBytes / 1024 / 1024} MiB|`);
  expect(page).toContain(`|returned JSON|${outputBytes / 1024 / 1024} MiB|`);
  expect(page).toContain(`Latin-1|${requestLimits.headers}, ${requestLimits.headerChars / 1024} KiB|`);
  expect(page).toContain(`|${requestLimits.pathChars.toLocaleString('en')} characters|`);
  expect(page).toContain(`|${requestLimits.queryNames}, ${requestLimits.queryChars / 1024} KiB|`);
  expect(page).toContain(`|console|${logLimits.lines} lines, ${logLimits.chars / 1024} KiB;`);
});
