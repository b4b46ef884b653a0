/**
 * Runs user functions in sandbox processes, started when first needed.
 *
 * It uses processes instead of threads because a function can run a loop inside V8 that no interrupt reaches,
 * and can make V8 abort. The first would block a thread for ever, the second end the node (docs/adr/0004).
 * Killing a process ends both.
 *
 * Three rules isolate tenants from each other:
 * - One process (of two or more) takes only functions proven to be quick and to give results, also while
 *   another process is being replaced.
 * - The queue serves tenants by the time they used.
 * - A tenant whose function ended at a limit or ended its process is a suspect. That function, and the
 *   tenant's unproven functions, share a further process with other suspects only. That process has a low
 *   priority and rests after each batch for as long as the batch took, its replacement included. So suspects use
 *   half a core of an idle machine, and a tenth of one where the others need it.
 *
 * A batch whose process ended runs again call by call, because the guilty call is unknown. A call that was
 * alone is judged by how the process ended.
 */
import { availableParallelism } from 'node:os';
import { type CallBatch, CallQueue, functionKeyOf, type QueuedCall, type Role } from './call-queue.ts';
import {
  completeLimits,
  type FunctionCall,
  type FunctionCheck,
  type FunctionError,
  type FunctionResult,
  functionFailure,
  functionVersion,
  inputLimitBytes,
  limitMessages,
  sourceLimitBytes,
} from './contract.ts';
import type { WorkerCall } from './protocol.ts';
import { RunTimes } from './run-times.ts';
import { Suspects } from './suspects.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';

export interface SandboxOptions {
  /** The maximum number of processes, not counting the one for suspects. */
  processes?: number;
  queuedCalls?: number;
  queuedBytes?: number;
}

/** After this many failed starts in a row, waiting calls fail instead of waiting longer. */
const startsBeforeGivingUp = 3;
/** Errors of runs that used all of their limit before they failed. */
const wasteful = new Set<FunctionError>(['cpu_limit', 'memory_limit']);
/**
 * The order in which processes get work. The quick process comes first, so that general ones do not take its
 * calls.
 */
const roles: Role[] = ['quick', 'general', 'suspect'];

export class Sandbox {
  readonly #times = new RunTimes();
  readonly #suspects = new Suspects();
  readonly #queue: CallQueue;
  readonly #processes: number;
  readonly #workers = new Set<WorkerProcess>();
  readonly #sentAtMs = new Map<CallBatch, number>();
  /** How long the last start took. A tenant whose call cost a process is charged this in addition to the run. */
  #startMs = 100;
  #failedStarts = 0;
  /** When suspects may run again. */
  #restUntilMs = 0;
  #restTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SandboxOptions = {}) {
    this.#processes = options.processes ?? Math.min(4, Math.max(2, availableParallelism()));
    const bounds = { calls: options.queuedCalls ?? 10_000, bytes: options.queuedBytes ?? 256 * 1024 * 1024 };
    this.#queue = new CallQueue(bounds, this.#times, this.#suspects);
  }

  run(call: FunctionCall): Promise<FunctionResult> {
    if (Buffer.byteLength(call.input) + (call.context?.length ?? 0) > inputLimitBytes) {
      return Promise.resolve(functionFailure('input_limit', limitMessages.input()));
    }
    // Callers measure finer than a millisecond. JavaScript's clock does not.
    const nowMs = Math.floor(call.nowMs);
    return this.#enqueue({ ...call, nowMs, kind: 'run', limits: completeLimits(call.limits) });
  }

  /** Compiles the code, runs its top level and finds `transform`, without calling it. */
  async check(code: string, tenant = ''): Promise<FunctionCheck> {
    const call = {
      kind: 'check',
      code,
      version: functionVersion(code),
      tenant,
      limits: completeLimits(),
    } as const;
    const result = await this.#enqueue({ ...call, input: '', seed: '', nowMs: Date.now() });
    if (result.ok) return { ok: true };
    const { message, line, ours } = result;
    return line === undefined ? { ok: false, message, ours } : { ok: false, message, line, ours };
  }

  /** Every open call ends as `sandbox_lost`. No process is left when this resolves. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#restTimer);
    this.#failAll(this.#queue.takeAll(), 'the sandbox was closed');
    await Promise.all([...this.#workers].map((worker) => worker.kill()));
  }

  #enqueue(call: WorkerCall): Promise<FunctionResult> {
    if (Buffer.byteLength(call.code) > sourceLimitBytes) {
      return Promise.resolve(functionFailure('source_limit', limitMessages.source()));
    }
    if (this.#closed) return Promise.resolve(functionFailure('sandbox_lost', 'the sandbox was closed'));
    const { promise, resolve } = Promise.withResolvers<FunctionResult>();
    if (!this.#queue.add({ call, settle: resolve, losses: 0 })) {
      return Promise.resolve(functionFailure('overloaded', 'too many function calls are waiting'));
    }
    this.#pump();
    return promise;
  }

  #pump(): void {
    for (const role of roles) {
      if (role === 'suspect' && this.#isResting()) continue;
      for (const worker of this.#workers) {
        if (worker.role !== role || !worker.idle) continue;
        const batch = this.#queue.take(role);
        if (batch === undefined) break;
        this.#sentAtMs.set(batch, performance.now());
        worker.send(batch);
      }
    }
    if (this.#count('suspect') === 0 && this.#queue.hasWorkFor('suspect') && !this.#isResting())
      this.#start('suspect');
    const trusted = this.#workers.size - this.#count('suspect');
    if (trusted < this.#processes && this.#queue.hasWorkFor('general')) {
      this.#start(trusted > 0 && this.#count('quick') === 0 ? 'quick' : 'general');
    }
  }

  #rest(forMs: number): void {
    this.#restUntilMs = performance.now() + forMs;
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => {
      // Timers may fire a little early.
      this.#restUntilMs = 0;
      this.#pump();
    }, forMs);
  }

  #isResting(): boolean {
    return performance.now() < this.#restUntilMs;
  }

  #count(role: Role): number {
    let count = 0;
    for (const worker of this.#workers) if (worker.role === role) count += 1;
    return count;
  }

  #start(role: Role): void {
    const startedAtMs = performance.now();
    const worker = new WorkerProcess(role, {
      ready: () => {
        this.#failedStarts = 0;
        this.#startMs = performance.now() - startedAtMs;
        this.#pump();
      },
      answered: (_worker, batch, results) => {
        const tookMs = this.#tookMs(batch);
        this.#answer(batch, results, tookMs);
        if (role === 'suspect') this.#rest(tookMs);
        this.#pump();
      },
      gone: (gone, batch, end) => this.#lost(gone, batch, end),
    });
    this.#workers.add(worker);
  }

  #answer(batch: CallBatch, results: FunctionResult[], tookMs: number): void {
    const failed = results.filter((result) => !result.ok && !result.ours);
    this.#queue.charge(batch, tookMs, failed.length);
    if (failed.some((result) => !result.ok && wasteful.has(result.error))) this.#suspects.add(batch);
    for (const [index, queued] of batch.calls.entries()) {
      const result = results[index] ?? functionFailure('sandbox_lost', 'the sandbox did not answer');
      this.#times.learn(batch.functionKey, result.busyMs, !result.ok);
      queued.settle(result);
    }
  }

  #tookMs(batch: CallBatch): number {
    const sentAtMs = this.#sentAtMs.get(batch) ?? performance.now();
    this.#sentAtMs.delete(batch);
    return performance.now() - sentAtMs;
  }

  #lost(worker: WorkerProcess, batch: CallBatch | undefined, end: WorkerEnd): void {
    this.#workers.delete(worker);
    const tookMs = batch === undefined ? 0 : this.#tookMs(batch);
    if (batch !== undefined) this.#judge(batch, end, tookMs);
    if (this.#closed) return;
    if (worker.role === 'suspect') this.#rest(tookMs + this.#startMs);
    if (!worker.ready) {
      this.#failedStarts += 1;
      if (this.#failedStarts >= startsBeforeGivingUp) {
        this.#failAll(
          this.#queue.takeAll(),
          `no sandbox process can be started: ${worker.stderr.slice(-500)}`,
        );
        this.#failedStarts = 0;
        return;
      }
    }
    this.#pump();
  }

  #judge(batch: CallBatch, end: WorkerEnd, tookMs: number): void {
    this.#queue.charge(batch, tookMs + this.#startMs, batch.calls.length);
    if (this.#closed) return this.#failAll(batch.calls, 'the sandbox was closed');
    const [only] = batch.calls;
    // The function may also have caused an end from outside (the system ran out of memory). Twice in a row is
    // no chance.
    if (end !== 'outside' || (only !== undefined && only.losses > 0)) this.#suspects.add(batch);
    if (only === undefined || batch.calls.length > 1) return this.#runAgain(batch.calls);
    this.#times.learn(functionKeyOf(only.call), tookMs, true);
    const { limits } = only.call;
    const usage = { cpuMs: limits.cpuMs, busyMs: tookMs };
    switch (end) {
      case 'cpu':
        return only.settle(functionFailure('cpu_limit', limitMessages.cpu(limits), usage));
      case 'memory':
        return only.settle(functionFailure('memory_limit', limitMessages.memory(limits), usage));
      case 'crash':
      case 'outside':
        if (only.losses === 0) return this.#runAgain([only]);
        return only.settle(
          end === 'crash'
            ? functionFailure('crashed', 'the function ended its sandbox process, twice', usage)
            : functionFailure('sandbox_lost', 'the sandbox process was ended from outside, twice', usage),
        );
    }
  }

  #runAgain(calls: QueuedCall[]): void {
    for (const queued of calls) queued.losses += 1;
    this.#queue.putBack(calls);
  }

  #failAll(calls: QueuedCall[], message: string): void {
    for (const queued of calls) queued.settle(functionFailure('sandbox_lost', message));
  }
}
