/** Functions written to break the sandbox. After each one the node still serves and other tenants are unharmed. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { judged } from '../../test/support/judged.ts';
import type { FunctionLimits, FunctionResult } from './contract.ts';
import { Sandbox } from './sandbox.ts';

const sandbox = new Sandbox({ processes: 2 });
afterAll(() => sandbox.close());

const tight = { cpuMs: 30 };
const roomy = { cpuMs: 5_000 };
const goodCode = 'const transform = (e) => [e.i, [].concat(1).map(String)]';

function run(code: string, tenant: string, input: unknown = {}, limits: Partial<FunctionLimits> = {}) {
  return sandbox.run({
    code,
    version: code,
    tenant,
    input: JSON.stringify(input),
    seed: 's',
    nowMs: 0,
    limits,
  });
}

/** Runs it with good calls of another tenant before, during and after it. */
async function attack(code: string, limits: Partial<FunctionLimits> = tight): Promise<FunctionResult> {
  const good = (from: number) =>
    Array.from({ length: 5 }, (_, i) => run(goodCode, 'good', { i: from + i }, roomy));
  const beside = good(0);
  const hostile = judged(() => run(code, 'hostile', {}, limits));
  beside.push(...good(5));
  const result = await hostile;
  const results = await Promise.all([...beside, ...good(10)]);
  expect(results.map((each) => each.ok && each.output)).toEqual(
    Array.from({ length: 15 }, (_, i) => `[${i},["1"]]`),
  );
  return result;
}

const body = (statements: string) => `function transform(e) { ${statements} }`;

describe('a function that does not end', () => {
  it.each([
    'for (;;);',
    'while (true) { try { for (;;); } catch {} finally { continue } }',
    'const again = () => Promise.resolve().then(again); return again()',
    'const again = () => Promise.resolve().then(again); again(); return 1',
    'const storm = () => { Promise.resolve().then(storm); Promise.resolve().then(storm) }; storm()',
    'return (async () => { for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => ({}) }) }); })()',
    'return /^(a+)+$/.test("a".repeat(50) + "b")',
    'return { toJSON() { for (;;); } }',
    'return new Proxy({}, { ownKeys() { for (;;); } })',
    'return { get a() { for (;;); } }',
    'throw { toString() { for (;;); } , toJSON() { for (;;); } }',
    'return { then() { for (;;); } }',
    'console.log({ toJSON() { for (;;); } })',
    'new Set({ [Symbol.iterator]: () => ({ next: () => ({}) }) })',
    '(function deep() { try { deep() } finally { deep() } })()',
  ])('is ended at its CPU limit: %s', async (statements) => {
    const result = await attack(body(statements));
    expect(result).toMatchObject({
      ok: false,
      error: 'cpu_limit',
      message: expect.stringContaining('30 ms of CPU'),
      ours: false,
    });
  });

  it.each([
    'return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)',
    'return [].includes.call({ length: 2 ** 53 - 1 }, 1)',
    'return new Array(2 ** 32 - 1).indexOf(1)',
    'return String.raw({ raw: { length: 2 ** 53 - 1 } })',
    'const a = []; a[2 ** 32 - 2] = 1; a.shift()',
    'return [].copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1)',
    'let n = 3n; for (;;) n *= n',
    'return BigInt("9".repeat(3e6)).toString(3).length',
  ])('is ended with its process where V8 cannot be interrupted: %s', async (statements) => {
    const result = await attack(body(statements));
    expect(result).toMatchObject({ ok: false, error: 'cpu_limit', ours: false });
  });
});

describe('a function that takes memory', () => {
  it.each([
    'const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))',
    'return new Uint8Array(new ArrayBuffer(2 ** 30))',
    'return "ab".repeat(2 ** 24).split("")',
    'const a = []; a.length = 2 ** 25; return a.fill(1.5)',
    'return JSON.stringify(new Array(3e7).fill("aaaaaaaaaa"))',
    'return [].toSorted.call({ length: 2 ** 32 - 1 })',
    'return "\\u00e9".repeat(2 ** 26).normalize("NFD").length',
    'const a = []; for (;;) a.push(new Array(1e5).fill(1))',
  ])('is ended at its memory limit: %s', async (statements) => {
    const result = await attack(body(statements), roomy);
    const message = expect.stringContaining('32 MiB') as string;
    expect(result).toMatchObject({ ok: false, error: 'memory_limit', message, ours: false });
  });

  // Garbage collection costs CPU time, so the machine decides which limit such code meets first.
  it.each([
    'const a = []; for (;;) a.push("x".repeat(1e6) + a.length + Math.random())',
    'const a = []; for (;;) a.push(new Uint8Array(48))',
    'const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })',
    'const o = {}; for (let i = 0; ; i++) o["k" + i] = i',
    'return JSON.parse("[".repeat(1e6) + "]".repeat(1e6))',
    'let s = "x"; for (;;) s = [s, s].join("y").toUpperCase()',
  ])('little by little is ended at one of its limits: %s', async (statements) => {
    const result = await attack(body(statements), { cpuMs: 500 });
    expect(result).toMatchObject({ ok: false, ours: false });
    expect(!result.ok && result.error).toMatch(/^(memory_limit|cpu_limit)$/);
  });

  it('gets no resizable buffer, which the limit would not see', async () => {
    const result = await attack(body('return new ArrayBuffer(8, { maxByteLength: 2 ** 30 }).resizable'));
    expect(result).toMatchObject({ ok: true, output: 'false' });
    expect(
      await attack(
        body('return new (new Uint8Array(1).buffer.constructor)(8, { maxByteLength: 99 }).resizable'),
      ),
    ).toMatchObject({ output: 'false' });
  });

  it.each([
    ['return "x".repeat(6e6)'],
    ['return "\\u00e9".repeat(3e6)'],
    ['return Array(2e6).fill(123)'],
    ['return { toJSON: () => "x".repeat(6e6) }'],
  ])('and returns too much gets an error: %s', async (statements) => {
    const result = await attack(body(statements), { ...roomy, heapBytes: 128 * 1024 * 1024 });
    expect(result).toMatchObject({
      ok: false,
      error: 'output_limit',
      message: expect.stringContaining('5 MiB'),
      ours: false,
    });
  });

  it.runIf(process.platform === 'linux')('leaves no memory behind', () => {
    const children = readdirSync('/proc/self/task').flatMap((task) =>
      readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
    );
    const residentMiB = children.map((pid) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
    });
    expect(children.length).toBeGreaterThan(0);
    for (const each of residentMiB) expect(each).toBeLessThan(250);
  });
});

describe('a function that looks for a way out', () => {
  it('finds none', async () => {
    const names = [
      'require',
      'process',
      'fetch',
      'setTimeout',
      'setInterval',
      'setImmediate',
      'queueMicrotask',
      'Buffer',
    ];
    names.push(
      'WebAssembly',
      'SharedArrayBuffer',
      'Atomics',
      'eval',
      'WeakRef',
      'FinalizationRegistry',
      'ivm',
      'performance',
    );
    const result = await attack(body(`return [${names.map((name) => `typeof ${name}`).join()}]`));
    expect(result.ok && JSON.parse(result.output)).toEqual(names.map(() => 'undefined'));
  });

  it.each([
    'return this.constructor.constructor("return process")()',
    'return globalThis.constructor.constructor("return 1")()',
    'return (() => 1).constructor("return 1")()',
    'return (async () => 1).constructor("return 1")()',
    'return (function* () {}).constructor("yield 1")().next()',
    'return (async function* () {}).constructor("yield 1")().next()',
    'return Function("return 1")()',
    'return new Function("return 1")()',
    'return Reflect.construct(Function, ["return 1"])()',
    'return console.log.constructor("return 1")()',
    'return Date.constructor("return 1")()',
    'return Object.getPrototypeOf(Function).constructor("return 1")()',
  ])('cannot make code from strings: %s', async (statements) => {
    const result = await attack(body(statements));
    expect(result).toMatchObject({
      ok: false,
      error: 'threw',
      message: expect.stringContaining('code from strings'),
    });
  });

  it('learns nothing about the host from stacks', async () => {
    const code = `Error.prepareStackTrace = (_, sites) => sites.map((site) => [typeof site.getThis(), typeof site.getFunction(), String(site.getFileName())]);
      function transform() { return [new Error().stack, typeof arguments.callee.caller] }`;
    const result = await attack(code);
    expect(result.ok).toBe(true);
    expect(result.ok && result.output).not.toMatch(/node:|file:|\/src\//);
  });

  it('sees only its own frames in a plain stack', async () => {
    const result = await attack(body('return new Error("x").stack'));
    expect(result.ok && result.output).not.toMatch(/node:|file:|\/src\//);
  });
});

describe('a function that spoils its own builtins', () => {
  const spoilt = [
    'JSON.stringify = () => "forged"; JSON.parse = () => { throw 1 }',
    'Object.prototype.toJSON = () => "forged"',
    'Array.prototype[Symbol.iterator] = () => { throw 1 }; Array.prototype.push = null',
    'String.prototype.slice = () => "forged"; String = null; Reflect.apply = null',
    'Object.defineProperty(Object.prototype, "then", { get() { return undefined }, configurable: true })',
    'Promise.prototype.then = () => { throw 1 }; Promise.resolve = null',
    'Object.defineProperty(Array.prototype, 0, { set() { throw 1 } })',
    'Object.freeze(globalThis); Object.freeze(Object.prototype)',
    'delete globalThis.JSON; delete globalThis.Object; delete globalThis.Reflect',
    'Math.random = Date.now = () => 7',
    'class E extends Error { static [Symbol.hasInstance]() { throw 1 } } Error = E',
    'Object.defineProperty(Object.prototype, "error", { value: "forged" })',
  ];

  it.each(spoilt)('does not affect other functions: %s', async (statement) => {
    const result = await attack(`${statement};\nfunction transform() { return 1 }`);
    expect(result.ok ? result.output : result.error).toMatch(/^(1|threw)$/);
    const next = await run('transform = () => ({ a: [1, "b"] })', 'hostile');
    expect(next).toMatchObject({ ok: true, output: '{"a":[1,"b"]}' });
  });
});

describe('a function that returns or throws something odd', () => {
  it.each([
    [
      'return new Proxy({}, { get() { throw new Error("get") }, ownKeys() { throw new Error("keys") } })',
      'threw',
    ],
    ['return new Proxy({}, { ownKeys() { throw new Error("keys") } })', 'not_json'],
    ['return { get a() { throw new Error("a") } }', 'not_json'],
    ['return { toJSON() { throw new Error("no") } }', 'not_json'],
    ['return { then() { throw new Error("no") } }', 'threw'],
    ['return { get then() { throw new Error("no") } }', 'threw'],
    ['throw { toString() { throw 1 }, toJSON() { throw 2 } }', 'threw'],
    ['throw Object.create(null)', 'threw'],
    ['throw new Proxy(new Error("x"), { get() { throw 1 } })', 'threw'],
    ['throw Symbol("x")', 'threw'],
    ['throw new Error("x".repeat(1e6))', 'threw'],
    ['return Symbol("x")', 'not_json'],
    ['Promise.reject(new Error("nobody waits")); return 1', 'threw'],
    ['(function deep() { deep() })()', 'threw'],
    [
      'class A extends Array { static get [Symbol.species]() { return function () { throw new Error("s") } } } return new A(1, 2).map(String)',
      'threw',
    ],
  ])('%s', async (statements, error) => {
    const result = await attack(body(statements));
    expect(result).toMatchObject({ ok: false, error, ours: false });
    expect(result.ok || result.message.length).toBeLessThan(1_100);
  });
});

describe('the event loop of the node', () => {
  it('keeps running while a function is being ended', async () => {
    const endless = [
      'for (;;);',
      'return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)',
      'let n = 3n; for (;;) n *= n',
    ];
    const runs = endless.map((statements) => run(body(statements), 'loop', {}, { cpuMs: 200 }));
    let ended = 0;
    for (const each of runs) void each.then(() => (ended += 1));
    let turns = 0;
    for (; ended < runs.length; turns += 1) await wait(1);
    // A loop that waited for the functions would run only a few rounds.
    expect(turns).toBeGreaterThan(50);
  });
});

describe('very large but allowed work', () => {
  it('passes an object nested 100,000 deep', async () => {
    const code = body('let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o');
    expect(await run(code, 'large', {}, roomy)).toMatchObject({
      ok: true,
      output: expect.stringMatching(/^(\{"o":){99}/),
    });
  });

  it('passes 4 MB in and out', async () => {
    const text = 'é'.repeat(2_000_000);
    const result = await run(
      'transform = (e) => e',
      'large',
      { text },
      { ...roomy, heapBytes: 128 * 1024 * 1024 },
    );
    expect(result.ok && JSON.parse(result.output)).toEqual({ text });
  });
});
