/**
 * One version of one tenant's function, compiled in an isolate of its own.
 *
 * A fresh context per event costs 1 ms, a frozen one that is reused 16 us (measured). So a version called
 * more than a few times runs in a frozen context. There the user's code is in strict mode inside a function:
 * its declarations end with the call, and a write to a builtin or an undeclared name throws. Runs have no
 * outside effects, so a call that fails in the frozen context runs again in a fresh context in sloppy mode,
 * and that result counts. If the two results differ, the version is marked `loose` and gets only fresh
 * contexts from then on. A run that ended at a limit is not repeated. After a limit the isolate may contain a
 * half-done run or waiting microtasks. It is then `spent`, and its owner must dispose it.
 */
import ivm from 'isolated-vm';
import {
  type FunctionFailure,
  type FunctionResult,
  functionFailure,
  limitMessages,
  logLimits,
} from './contract.ts';
import { type GuestFailure, guestSource } from './guest.ts';
import type { WorkerCall } from './protocol.ts';

interface World {
  context: ivm.Context;
  run: ivm.Reference;
  collect: ivm.Reference;
}

/** A kept isolate with a larger heap than this is disposed to free its memory. */
const keptHeapBytes = 12 * 1024 * 1024;
/** Freezing takes 7 ms, as much as seven fresh contexts. It does not pay for a rarely called function. */
const runsBeforeFreezing = 2;
const filename = 'function.js';
const strictHead = "(function(){'use strict';";
const sloppyHead = '(function(){';
const tail = "\n;return typeof transform==='undefined'?undefined:transform})";

export class FunctionIsolate {
  readonly #isolate: ivm.Isolate;
  readonly #code: string;
  readonly #heapBytes: number;
  #sloppy: ivm.Script | undefined;
  #freshGuest: ivm.Script | undefined;
  #frozen: World | undefined;
  #loose = false;
  #runs = 0;
  #spent = false;

  constructor(code: string, heapBytes: number) {
    this.#code = code;
    this.#heapBytes = heapBytes;
    this.#isolate = new ivm.Isolate({ memoryLimit: Math.ceil(heapBytes / 1024 / 1024) });
  }

  get spent(): boolean {
    return this.#spent || this.#isolate.isDisposed;
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }

  /** `wallMs` is when the timer fires. The caller decides whether the CPU time was used up by then. */
  run(call: WorkerCall, wallMs: number): FunctionResult {
    const result = this.#guarded(call, () => this.#compileAndRun(call, wallMs));
    return { ...result, heapBytes: this.#heldBytes() };
  }

  #compileAndRun(call: WorkerCall, wallMs: number): FunctionResult {
    if (this.#sloppy === undefined) {
      // Code that is a complete script by itself cannot close the wrapping function.
      this.#isolate.compileScriptSync(this.#code, { filename }).release();
      this.#sloppy = this.#compile(sloppyHead);
    }
    const frozen = call.kind === 'check' ? undefined : this.#frozenWorld();
    const used = cpuClock();
    const result =
      frozen === undefined ? this.#runFresh(call, wallMs) : this.#runFrozen(frozen, call, wallMs);
    return { ...result, busyMs: used() };
  }

  #runFrozen(frozen: World, call: WorkerCall, wallMs: number): FunctionResult {
    const quick = this.#runIn(frozen, call, wallMs);
    if (quick.ok || quick.error === 'output_limit' || this.spent) return quick;
    const fresh = this.#runFresh(call, wallMs);
    this.#loose = fresh.ok || fresh.error !== quick.error || fresh.message !== quick.message;
    return fresh;
  }

  #compile(head: string): ivm.Script {
    return this.#isolate.compileScriptSync(head + this.#code + tail, {
      filename,
      columnOffset: -head.length,
    });
  }

  /** None for a version that is loose, invalid in strict mode, or called too rarely so far. */
  #frozenWorld(): World | undefined {
    if (this.#loose || this.#frozen !== undefined) return this.#loose ? undefined : this.#frozen;
    this.#runs += 1;
    if (this.#runs <= runsBeforeFreezing) return undefined;
    try {
      this.#frozen = this.#world(this.#compile(strictHead), true);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#loose = true;
    }
    return this.#frozen;
  }

  #world(script: ivm.Script, frozen: boolean): World {
    const context = this.#isolate.createContextSync();
    const set = this.#guest(frozen).runSync(context, { reference: true });
    const bind = set.getSync('bind', { reference: true });
    const collect = set.getSync('collect', { reference: true });
    const factory = script.runSync(context, { reference: true });
    const run = bind.applySync(undefined, [factory.derefInto()], { result: { reference: true } });
    return { context, run, collect };
  }

  #guest(frozen: boolean): ivm.Script {
    if (frozen) return this.#isolate.compileScriptSync(guestSource({ frozen, log: logLimits }));
    this.#freshGuest ??= this.#isolate.compileScriptSync(guestSource({ frozen, log: logLimits }));
    return this.#freshGuest;
  }

  #runFresh(call: WorkerCall, wallMs: number): FunctionResult {
    const world = this.#world(this.#sloppy as ivm.Script, false);
    try {
      return this.#runIn(world, call, wallMs);
    } finally {
      world.run.release();
      world.collect.release();
      world.context.release();
    }
  }

  #runIn(world: World, call: WorkerCall, wallMs: number): FunctionResult {
    const used = cpuClock();
    const result = this.#guarded(call, () => {
      const { input, context } = call;
      const given = context === undefined ? [input] : [input, context];
      const args = [call.seed, call.nowMs, call.limits.outputBytes, ...(call.kind === 'check' ? [] : given)];
      let answer: unknown = world.run.applySync(undefined, args, { timeout: wallMs });
      if (answer === 'p') answer = world.collect.applySync(undefined, [], { timeout: wallMs });
      return readAnswer(String(answer), call);
    });
    return { ...result, cpuMs: used() };
  }

  /** Turns exceptions of the isolate into results. A limit leaves the isolate spent. */
  #guarded(call: WorkerCall, work: () => FunctionResult): FunctionResult {
    try {
      return work();
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      if (/^Isolate (was|is) (already )?disposed|memory limit/.test(message)) {
        this.#spent = true;
        return functionFailure('memory_limit', limitMessages.memory(call.limits));
      }
      if (message.startsWith('Script execution timed out')) {
        this.#spent = true;
        return functionFailure('cpu_limit', limitMessages.cpu(call.limits));
      }
      if (thrown instanceof SyntaxError) return syntaxFailure(message);
      // An unhandled rejection, or a stack overflow at the boundary.
      return functionFailure('threw', message.slice(0, 1_000));
    }
  }

  #heldBytes(): number {
    if (this.spent) return this.#isolate.isDisposed ? this.#heapBytes : 0;
    const heap = this.#isolate.getHeapStatisticsSync();
    const heapBytes = heap.used_heap_size + heap.externally_allocated_size;
    if (heapBytes > keptHeapBytes) this.#spent = true;
    return heapBytes;
  }
}

/**
 * Returns a function that tells the CPU milliseconds of this thread since the call. It does not use the isolate's own
 * figure, which is wall time on some systems. This one may advance in ticks of 10 ms.
 */
function cpuClock(): () => number {
  const startedAt = performance.now();
  const before = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(before);
    return Math.min((user + system) / 1000, performance.now() - startedAt);
  };
}

function syntaxFailure(message: string): FunctionFailure {
  const place = / \[function\.js:(\d+):\d+\]$/.exec(message);
  if (place === null) return functionFailure('syntax', message);
  const line = Number(place[1]);
  return functionFailure('syntax', `${message.slice(0, place.index)} (line ${line})`, { line });
}

function readAnswer(answer: string, call: WorkerCall): FunctionResult {
  if (answer.startsWith('e')) {
    const { error, message, log } = JSON.parse(answer.slice(1)) as GuestFailure;
    if (error === 'output_limit') return functionFailure(error, limitMessages.output(call.limits), { log });
    if (message === 'RangeError: Array buffer allocation failed') {
      return functionFailure('memory_limit', limitMessages.memory(call.limits), { log });
    }
    return functionFailure(error, message, { log });
  }
  const logEnd = answer.startsWith('l') ? answer.indexOf('\n') : 0;
  const output = answer.slice(logEnd + 1);
  // The guest counts UTF-16 units, which are never more than the bytes.
  if (Buffer.byteLength(output) > call.limits.outputBytes) {
    return functionFailure('output_limit', limitMessages.output(call.limits));
  }
  const log = logEnd === 0 ? [] : (JSON.parse(answer.slice(1, logEnd)) as string[]);
  return { ok: true, output, log, cpuMs: 0, busyMs: 0, heapBytes: 0 };
}
