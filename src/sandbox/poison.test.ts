/**
 * The cost of one tenant's hostile functions for another tenant's functions. The tests count instead of
 * timing: runs of one tenant per run of the other, and lost processes. The one time is a lower bound.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { functionVersion } from './contract.ts';
import { Sandbox } from './sandbox.ts';

const body = (statements: string) => `function transform(event) { ${statements} }`;
/** V8 aborts and takes the process with it. */
const abort = 'return [].toSorted.call({ length: 2 ** 32 - 1 })';
/** V8 checks no interrupt here, so the watchdog ends the process. */
const deafLoop = 'return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)';

const quick = body('return event.n');
/** Takes some 10 ms, a tenth of the limit. */
const slow = body('let n = 0; for (let i = 0; i < 2e6; i++) n += i % 7; return n');

const poisons: [string, string[]][] = [
  ['loops that end at their limit', [body('for (;;);')]],
  ['loops that end with their process', [body(deafLoop)]],
  ['aborts of their process', [body(abort)]],
  ['aborts, each by another function', Array.from({ length: 10 }, (_, n) => body(`/* ${n} */ ${abort}`))],
  ['aborts now and then, by a quick function', [body(`if (event.n % 40 !== 39) return 1; ${abort}`)]],
];

const REST_RUNS = 5;
/** Runs of others for each hostile run: ten take as long as one that ends at its limit, so half of the time is theirs. */
const FAIR_RUNS = 10;
const PAUSE_MS = 10;
/** A limit that hostile functions reach soon, also with the low priority of suspects on a busy machine. */
const SOON_MS = 30;

let sandbox: Sandbox;
let before: Set<string>;
beforeEach(() => {
  before = new Set(children());
  sandbox = new Sandbox({ processes: 2 });
});
afterEach(() => sandbox.close());

function children(): string[] {
  return readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
}

const ownProcesses = () => children().filter((pid) => !before.has(pid));

function run(code: string, tenant: string, n: number, hostileMs = 100) {
  const common = { input: JSON.stringify({ n }), seed: '', nowMs: 0 };
  // Before V8 has optimised it, the slow function takes several times as long.
  const limits = { cpuMs: tenant === 'good' ? 2_000 : hostileMs };
  return sandbox.run({ code, version: functionVersion(code), tenant, ...common, limits });
}

/** Runs the good tenant's functions until stopped. Each must give a result. Counts those that ended. */
async function keepRunning(code: string, good: Good): Promise<void> {
  while (!good.isStopped && good.ended < good.enough) {
    expect(await run(code, 'good', good.ended)).toMatchObject({ ok: true });
    good.ended += 1;
    if (good.pauseMs > 0) await wait(good.pauseMs);
  }
}

interface Good {
  isStopped: boolean;
  ended: number;
  /** No more are needed. */
  enough: number;
  pauseMs: number;
}

async function startBoth(): Promise<string[]> {
  // The second process starts for calls that wait while the first is busy.
  while (ownProcesses().length < 2) {
    await Promise.all([run(slow, 'good', 0), ...Array.from({ length: 30 }, (_, n) => run(quick, 'good', n))]);
  }
  return ownProcesses();
}

describe.runIf(process.platform === 'linux')('a tenant whose functions are', () => {
  it.each(poisons)('%s costs others one process at most', async (_, codes) => {
    const serving = await startBoth();
    // Pauses leave the hostile functions time to reach their limits.
    const good = { isStopped: false, ended: 0, enough: Number.POSITIVE_INFINITY, pauseMs: PAUSE_MS };
    const goods = [keepRunning(quick, good), keepRunning(slow, good)];
    let poisoned = 0;
    for (let n = 0; poisoned < 3; n += 1) {
      const result = await run(codes[n % codes.length] as string, 'bad', n, SOON_MS);
      if (!result.ok) poisoned += 1;
    }
    const left = ownProcesses();
    good.isStopped = true;
    await Promise.all(goods);
    expect(serving.filter((pid) => left.includes(pid)).length).toBeGreaterThanOrEqual(1);
    // Suspects have a process of their own, or it is about to be replaced.
    expect(left.length).toBeLessThanOrEqual(3);
  });

  it.each(poisons.slice(0, 4))('%s gets fewer runs than others that wait as long', async (_, codes) => {
    await startBoth();
    // The others end before the hostile ones, or are too few.
    const good = { isStopped: false, ended: 0, enough: 3 * FAIR_RUNS + 1, pauseMs: 0 };
    const goods = Array.from({ length: 4 }, () => keepRunning(slow, good));
    const bads = Array.from({ length: 3 }, (_each, n) => run(codes[n % codes.length] as string, 'bad', n));
    await Promise.all(bads);
    good.isStopped = true;
    const { ended } = good;
    await Promise.all(goods);
    expect(ended / bads.length).toBeGreaterThan(FAIR_RUNS);
  });

  it('loops rests after each run for as long as it took', async () => {
    // The first makes it a suspect, the second is the first of the suspects' process.
    for (let n = 0; n < 2; n += 1) await run(body('for (;;);'), 'bad', n, SOON_MS);
    const from = performance.now();
    for (let n = 0; n < REST_RUNS; n += 1) await run(body('for (;;);'), 'bad', n, SOON_MS);
    // Timers may fire a millisecond early.
    expect((performance.now() - from) / REST_RUNS).toBeGreaterThan(2 * SOON_MS - 2);
  });
});
