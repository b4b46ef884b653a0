import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { judged } from '../../test/support/judged.ts';
import {
  type FunctionCall,
  type FunctionResult,
  logLimits,
  sourceLimitBytes,
  wallTimes,
} from './contract.ts';
import { Sandbox } from './sandbox.ts';

/** Processes are looked up in /proc. */
const onLinux = process.platform === 'linux';
const sandbox = new Sandbox({ processes: 2 });
afterAll(() => sandbox.close());

function callOf(code: string, input: unknown = {}, rest: Partial<FunctionCall> = {}): FunctionCall {
  const seed = 'event-1';
  return {
    code,
    version: code,
    tenant: 'a',
    input: JSON.stringify(input),
    seed,
    nowMs: 1_700_000_000_000,
    ...rest,
  };
}

const run = (code: string, input: unknown = {}, rest: Partial<FunctionCall> = {}) =>
  sandbox.run(callOf(code, input, rest));

function outputOf(result: FunctionResult): unknown {
  if (!result.ok) throw new Error(`${result.error}: ${result.message}`);
  return JSON.parse(result.output);
}

function childProcesses(): string[] {
  return readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
}

describe('a function', () => {
  it('gets the event and returns the body of the delivery', async () => {
    const result = await run('function transform(e) { return { ...e, b: e.a?.x ?? 2 } }', { a: 1 });
    expect(result).toMatchObject({ ok: true, output: '{"a":1,"b":2}', log: [] });
    expect(result.heapBytes).toBeGreaterThan(100_000);
  });

  it('gets a second argument only where the caller gives one, and nothing of it reaches the next call', async () => {
    const code = `function transform(e, c) {
      const before = [globalThis.kept, [].leak, transform.kept].find((one) => one !== undefined) ?? null;
      try { globalThis.kept = c } catch {}
      try { Array.prototype.leak = c } catch {}
      try { transform.kept = c } catch {}
      return { before, count: arguments.length, secret: c?.secret };
    }`;
    const context = JSON.stringify({ secret: 's' });
    // Frozen contexts begin with the third call.
    for (let round = 0; round < 4; round += 1) {
      const [given, none] = [await run(code, {}, { context }), await run(code)];
      expect(given).toMatchObject({ ok: true, output: '{"before":null,"count":2,"secret":"s"}' });
      expect(none).toMatchObject({ ok: true, output: '{"before":null,"count":1}' });
    }
  });

  it.each([
    ['const transform = (e) => e.a', 1],
    ['let transform = function (e) { return e.a }', 1],
    ['var transform = async (e) => { await null; return e.a }', 1],
    ['transform = (e) => e.a', 1],
    ['globalThis.transform = (e) => e.a', 1],
    ['this.transform = (e) => e.a', 1],
    ['function transform(e) { return { then(done) { done(e.a) } } }', 1],
    ['function transform() { return null }', null],
    ['function transform() { return [] } // ends in a comment', []],
    ['{ function transform(e) { return e.a } }', 1],
  ])('may be written as %s', async (code, expected) => {
    expect(outputOf(await run(code, { a: 1 }))).toEqual(expected);
  });

  it.each([
    ['class transform {}', 'threw', "without 'new'"],
    ['const transform = 5', 'no_transform', 'transform'],
    ['', 'no_transform', 'transform'],
    ['function transfrom() {}', 'no_transform', 'transform'],
    ['function transform() {}', 'not_json', 'undefined'],
    ['function transform() { return () => 1 }', 'not_json', 'function'],
    ['function transform() { return 1n }', 'not_json', 'BigInt'],
    ['function transform() { const a = {}; a.a = a; return a }', 'not_json', 'circular'],
    ['function transform() { throw new RangeError("too far") }', 'threw', 'RangeError: too far'],
    ['function transform() { throw { code: 7 } }', 'threw', '{"code":7}'],
    ['function transform() { throw undefined }', 'threw', 'undefined'],
    ['function transform() { return Promise.reject(new Error("late")) }', 'threw', 'Error: late'],
    ['function transform() { return new Promise(() => {}) }', 'never_settled', 'never settles'],
    ['throw new Error("at the top")', 'threw', 'at the top'],
    ['}); globalThis.x = 1; (function () {', 'syntax', 'line 1'],
    ['return 1', 'syntax', 'line 1'],
    ['import fs from "fs"', 'syntax', 'line 1'],
    ['function transform() { return import("fs") }', 'threw', 'Not supported'],
  ])('%s ends with its own error', async (code, error, message) => {
    const result = await run(code);
    expect(result).toMatchObject({ ok: false, error, ours: false });
    expect(result.ok || result.message).toContain(message);
  });

  it('gets longer and longer on a machine that starves it, up to 200 times its CPU time', () => {
    expect([...wallTimes(100)]).toEqual([100, 300, 900, 2_700, 8_100, 20_000]);
  });

  it('returns its resource usage', async () => {
    const code = 'function transform() { let n = 0; for (let i = 0; i < 5e7; i++) n += i % 7; return n }';
    const result = await run(code, {}, { limits: { cpuMs: 5_000 } });
    expect(result.ok).toBe(true);
    expect(result.cpuMs).toBeGreaterThan(0);
    expect(result.cpuMs).toBeLessThanOrEqual(result.busyMs);
  });

  it('reports the line of a syntax error', async () => {
    const result = await run('function transform(e) {\n  return e\n  let x = ;\n}');
    expect(result).toMatchObject({ error: 'syntax', line: 3 });
  });

  it('longer than the bound is refused', async () => {
    const result = await run(`//${'x'.repeat(sourceLimitBytes)}`);
    expect(result).toMatchObject({ error: 'source_limit', message: expect.stringContaining('bytes') });
  });

  it('sees the pinned clock and the seeded random numbers, the same on each attempt', async () => {
    const code = `function transform() { return [Date.now(), +new Date(), new Date(0).getTime(), Date(),
      new Intl.DateTimeFormat('en').format(), String(Temporal.Now.instant()), Math.random(), Math.random()] }`;
    const [first, again, other] = await Promise.all([
      run(code),
      run(code),
      run(code, {}, { seed: 'event-2' }),
    ]);
    const values = outputOf(first) as unknown[];
    expect(values.slice(0, 3)).toEqual([1_700_000_000_000, 1_700_000_000_000, 0]);
    expect(values.slice(3, 6)).toEqual([
      'Tue Nov 14 2023 22:13:20 GMT+0000 (Coordinated Universal Time)',
      '11/14/2023',
      '2023-11-14T22:13:20Z',
    ]);
    expect(values[6]).not.toBe(values[7]);
    expect(outputOf(again)).toEqual(values);
    expect((outputOf(other) as unknown[])[6]).not.toBe(values[6]);
  });

  it('sees whole milliseconds on the clock, for any resolution of the caller clock', async () => {
    const code = `function transform() { return [Date.now(), +new Date(), Temporal.Now.instant().epochMilliseconds] }`;
    const result = await run(code, {}, { nowMs: 1_700_000_000_000.75 });
    expect(outputOf(result)).toEqual([1_700_000_000_000, 1_700_000_000_000, 1_700_000_000_000]);
  });

  it('keeps unicode, lone surrogates, __proto__ keys and number order as JSON has them', async () => {
    const input = '{"__proto__":{"x":1},"s":"\\ud800","e":"😀\\u0000","n":1e21}';
    const result = await sandbox.run({ ...callOf('transform = (e) => ({ e, x: e.x })'), input });
    expect(result).toMatchObject({ ok: true });
    expect(result.ok && result.output).toBe(
      '{"e":{"__proto__":{"x":1},"s":"\\ud800","e":"😀\\u0000","n":1e+21}}',
    );
    expect(outputOf(await run('transform = () => ({}).x ?? "clean"'))).toBe('clean');
  });

  it('has its console output captured, in order, within bounds', async () => {
    const result = await run(`function transform() {
      console.log('a', 1, { b: [null] }, undefined); console.error(new Error('no')); console.warn(new Proxy({}, {
        get() { throw 1 }, ownKeys() { throw 2 } })); return 1 }`);
    expect(result.log).toEqual(['a 1 {"b":[null]} undefined', 'Error: no', '[cannot be shown]']);
    const many = await run('function transform() { for (let i = 0; i < 1e4; i++) console.log(i); return 1 }');
    expect(many.log).toHaveLength(logLimits.lines + 1);
    expect(many.log.at(-1)).toContain('log cut');
    const long = await run('function transform() { console.log("x".repeat(1e6)); return 1 }');
    expect(long.log).toEqual([expect.stringContaining('log cut')]);
    const failing = await run('function transform() { console.log("before"); throw new Error("x") }');
    expect(failing.log).toEqual(['before']);
  });
});

describe('state', () => {
  it.each([
    ['a top-level variable', 'let n = 0; function transform() { return ++n }'],
    [
      'an undeclared variable',
      'function transform() { return (n = (typeof n === "undefined" ? 0 : n) + 1) }',
    ],
    ['the global object', 'function transform() { return (globalThis.n = (globalThis.n ?? 0) + 1) }'],
    ['a builtin', 'function transform() { return (Math.n = (Math.n ?? 0) + 1) }'],
    [
      'a hidden prototype',
      `function transform() { const p = Object.getPrototypeOf(function* () {}.prototype);
      try { p.n = (p.n ?? 0) + 1 } catch { return 1 } return p.n }`,
    ],
    [
      'a caught write',
      'function transform() { try { Array.n = (Array.n ?? 0) + 1 } catch {} return Array.n ?? 1 }',
    ],
    ['a function', 'function transform() { return (transform.n = (transform.n ?? 0) + 1) }'],
    ['a symbol', 'function transform() { const s = Symbol.for("n"); return (Date[s] = (Date[s] ?? 0) + 1) }'],
    ['console', 'function transform() { return (console.n = (console.n ?? 0) + 1) }'],
    [
      'the last match',
      'function transform() { const seen = RegExp.$1; /(x)/.test("x"); return seen ? 2 : 1 }',
    ],
  ])('in %s does not reach the next event', async (_where, code) => {
    const results = [];
    // The first runs get a fresh context each, the later ones share a frozen one.
    for (let i = 0; i < 6; i += 1) results.push(outputOf(await run(code)));
    expect(results).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('finds no object to persist in once the context is shared', async () => {
    const code = `
      const seen = new Set(), open = [];
      function walk(root, name) {
        const waiting = [[root, name]];
        while (waiting.length > 0) {
          const [each, path] = waiting.pop();
          if (Object(each) !== each || seen.has(each)) continue;
          seen.add(each);
          if (!Object.isFrozen(each)) open.push(path);
          waiting.push([Object.getPrototypeOf(each), path + '^']);
          for (const [key, { value, get, set }] of Object.entries(Object.getOwnPropertyDescriptors(each)))
            waiting.push([value, path + '.' + key], [get, path + '.get ' + key], [set, path + '.set ' + key]);
          for (const key of Object.getOwnPropertySymbols(each)) {
            const { value, get, set } = Object.getOwnPropertyDescriptor(each, key);
            waiting.push([value, path + '.' + String(key)], [get, path + '.get'], [set, path + '.set']);
          }
        }
      }
      function transform() {
        walk(globalThis, 'global');
        const strict = (function () { 'use strict'; return arguments })();
        const made = { array: [], fn() {}, async: async () => 0, generator: function* () {}, asyncGenerator: async function* () {},
          arrayIterator: [].values(), stringIterator: ''[Symbol.iterator](), mapIterator: new Map().keys(), setIterator: new Set().keys(),
          regExp: /x/, matches: 'a'.matchAll(/a/g), helper: [].values().map(String), wrapped: Iterator.from({ next() {} }),
          promise: Promise.resolve(), strict, bytes: new Uint8Array(1), buffer: new ArrayBuffer(1), view: new DataView(new ArrayBuffer(1)),
          date: new Date(), segments: new Intl.Segmenter().segment('a'), segmentIterator: new Intl.Segmenter().segment('a')[Symbol.iterator](),
          format: new Intl.DateTimeFormat(), instant: Temporal.Now.instant(), day: Temporal.Now.plainDateISO(), stack: new DisposableStack() };
        for (const [name, value] of Object.entries(made)) walk(Object.getPrototypeOf(value), name);
        walk(Object.getPrototypeOf(made.generator.prototype), 'generator object');
        walk(Object.getPrototypeOf(made.asyncGenerator.prototype), 'async generator object');
        const traced = {};
        Error.captureStackTrace(traced);
        for (const [name, value] of Object.entries({ error: new TypeError('x'), traced, strict }))
          for (const { get, set } of Object.values(Object.getOwnPropertyDescriptors(value))) { walk(get, name); walk(set, name) }
        return { seen: seen.size, open };
      }`;
    const last = { seen: 0, open: [''] };
    for (let i = 0; i < 4; i += 1)
      Object.assign(last, outputOf(await run(code, {}, { limits: { cpuMs: 2_000 } })));
    expect(last.open).toEqual([]);
    expect(last.seen).toBeGreaterThan(900);
  });

  it('does not pass between tenants with the same code', async () => {
    const code =
      'function transform(e) { if (e.put) globalThis.kept = e.put; return globalThis.kept ?? "none" }';
    expect(outputOf(await run(code, { put: 'secret' }))).toBe('secret');
    expect(outputOf(await run(code, {}, { tenant: 'b' }))).toBe('none');
  });

  it('lets code extend builtins for its own run', async () => {
    const code = 'String.prototype.shout = function () { return this + "!" }; transform = (e) => e.a.shout()';
    expect(outputOf(await run(code, { a: 'hey' }))).toBe('hey!');
    expect(outputOf(await run('transform = () => typeof "".shout'))).toBe('undefined');
  });
});

describe('check', () => {
  it('accepts code that defines transform and does not call it', async () => {
    expect(await sandbox.check('function transform() { throw new Error("called") }')).toEqual({ ok: true });
  });

  it('names the line of a syntax error, and a missing transform', async () => {
    expect(await sandbox.check('let a;\nlet a;')).toMatchObject({ ok: false, line: 2, ours: false });
    expect(await sandbox.check('let a')).toMatchObject({
      ok: false,
      message: expect.stringContaining('transform'),
    });
  });

  it('ends for code whose top level does not', async () => {
    // A busy machine may give it too little CPU time to reach the limit.
    expect(await sandbox.check('for (;;);')).toMatchObject({
      ok: false,
      message: expect.stringMatching(/CPU|too busy/),
    });
  });
});

describe('the queue', () => {
  it('refuses calls when it is full, as our fault', async () => {
    const small = new Sandbox({ processes: 1, queuedCalls: 4 });
    const results = await Promise.all(
      Array.from({ length: 8 }, () => small.run(callOf('transform = () => 1'))),
    );
    const refused = results.filter((result) => !result.ok);
    expect(refused.length).toBe(6);
    expect(refused[0]).toMatchObject({ error: 'overloaded', ours: true });
    await small.close();
  });

  it('lets the quick calls of one tenant pass the endless loops of another', async () => {
    const loops = Array.from({ length: 10 }, (_, i) =>
      judged(() =>
        run(`function transform() { for (;;); } // ${i}`, {}, { tenant: 'loop', limits: { cpuMs: 30 } }),
      ),
    );
    let loopsEnded = 0;
    for (const loop of loops) void loop.then(() => (loopsEnded += 1));
    const quick = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        run('const transform = (e) => e.i * 2', { i }, { tenant: 'quick' }),
      ),
    );
    expect(quick.map(outputOf)).toEqual(Array.from({ length: 100 }, (_, i) => i * 2));
    expect(loopsEnded).toBeLessThan(5);
    expect((await Promise.all(loops)).map((result) => result.ok || result.error)).toEqual(
      Array.from({ length: 10 }, () => 'cpu_limit'),
    );
  });
});

describe('close', () => {
  it.runIf(onLinux)('settles every call as lost and leaves no process', async () => {
    const before = childProcesses();
    const closing = new Sandbox({ processes: 2 });
    await closing.run(callOf('transform = () => 1'));
    const calls = Array.from({ length: 30 }, (_, i) =>
      closing.run(
        callOf(
          `function transform() { for (;;); } // ${i}`,
          {},
          { tenant: `t${i}`, limits: { cpuMs: 10_000 } },
        ),
      ),
    );
    expect(childProcesses().length).toBeGreaterThan(before.length);
    await closing.close();
    for (const result of await Promise.all(calls)) {
      expect(result).toMatchObject({ ok: false, error: 'sandbox_lost', ours: true });
    }
    expect(childProcesses()).toEqual(before);
    expect(await closing.run(callOf('transform = () => 1'))).toMatchObject({
      error: 'sandbox_lost',
      ours: true,
    });
    await closing.close();
  });

  it('works on a sandbox that never started', async () => {
    await expect(new Sandbox().close()).resolves.toBeUndefined();
  });
});

describe.runIf(onLinux)('a sandbox process killed from outside', () => {
  it('loses no call: it runs again in another process', async () => {
    const own = new Sandbox({ processes: 1 });
    const before = new Set(childProcesses());
    await own.run(callOf('transform = () => 1'));
    const [pid] = childProcesses().filter((child) => !before.has(child));
    const calls = Array.from({ length: 50 }, (_, i) => own.run(callOf('transform = (e) => e.i', { i })));
    process.kill(Number(pid), 'SIGKILL');
    expect((await Promise.all(calls)).map(outputOf)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    await own.close();
  });
});
