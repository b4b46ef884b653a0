/**
 * Small transforms per second through one sandbox process, message channel included. For comparison, the same
 * for code that changes a builtin and so gets a fresh context per event. Takes under 5 s. Usage: node
 * bench/functions.ts
 */
import { availableParallelism, cpus } from 'node:os';
import { functionVersion } from '../src/sandbox/contract.ts';
import { Sandbox } from '../src/sandbox/sandbox.ts';

const goalPerSecond = 10_000;
const waiting = 512;
const input = JSON.stringify({ id: 7, kind: 'invoice.paid', lines: [1, 2, 3], note: 'n'.repeat(700) });
const quickCode =
  'function transform(e) { return { id: e.id, total: e.lines.reduce((a, b) => a + b, 0), note: e.note } }';
const looseCode = `Array.prototype.sum = function () { return this.reduce((a, b) => a + b, 0) };
  function transform(e) { return { id: e.id, total: e.lines.sum(), note: e.note } }`;

async function perSecond(sandbox: Sandbox, code: string, runMs: number): Promise<number> {
  const version = functionVersion(code);
  const startedAt = performance.now();
  let calls = 0;
  const caller = async () => {
    while (performance.now() - startedAt < runMs) {
      const result = await sandbox.run({ code, version, tenant: 'bench', input, seed: `${calls}`, nowMs: 0 });
      if (!result.ok) throw new Error(result.message);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: waiting }, caller));
  return Math.round((calls * 1000) / (performance.now() - startedAt));
}

const sandbox = new Sandbox({ processes: 1 });
await perSecond(sandbox, quickCode, 500);
const quick = await perSecond(sandbox, quickCode, 1_500);
const loose = await perSecond(sandbox, looseCode, 1_000);
await sandbox.close();

console.log(
  `${cpus()[0]?.model}, ${availableParallelism()} cores, Node ${process.version}, ${input.length} bytes in`,
);
console.log(`frozen context, one process: ${quick}/s (goal ${goalPerSecond}/s)`);
console.log(`fresh context, one process:  ${loose}/s`);
