/**
 * Runs user functions in sandbox processes, started when first needed.
 *
 * Processes and not threads: a function can stay in a loop of V8's own that no interrupt reaches, and can
 * make V8 abort; the first would hold a thread for ever, the second end the node (docs/adr/0004). Killing
 * a process ends both.
 *
 * Two rules keep slow functions from quick ones: one process (of two or more) takes only functions proven
 * quick, and the queue serves tenants by the time they used. A batch whose process ended is run again call
 * by call, as it is not known which call ended it; a call that was alone is judged by how the process
 * ended.
 */
import { availableParallelism } from 'node:os';
import { type CallBatch, CallQueue, functionKeyOf, type QueuedCall } from './call-queue.ts';
import {
  completeLimits,
  type FunctionCall,
  type FunctionCheck,
  type FunctionResult,
  functionFailure,
  functionVersion,
  inputLimitBytes,
  limitMessages,
  sourceLimitBytes,
} from './contract.ts';
import type { WorkerCall } from './protocol.ts';
import { RunTimes } from './run-times.ts';
import { type WorkerEnd, WorkerProcess } from './worker-process.ts';

export interface SandboxOptions {
  /** How many processes at most. */
  processes?: number;
  queuedCalls?: number;
  queuedBytes?: number;
}

/** Starting failed this often in a row: waiting calls are answered instead of kept waiting. */
const startsBeforeGivingUp = 3;
/** What a tenant is charged beside the run when its call cost us a process: about what starting one takes. */
const restartMs = 100;

export class Sandbox {
  readonly #times = new RunTimes();
  readonly #queue: CallQueue;
  readonly #processes: number;
  readonly #workers = new Set<WorkerProcess>();
  readonly #sentAtMs = new Map<CallBatch, number>();
  #failedStarts = 0;
  #closed = false;

  constructor(options: SandboxOptions = {}) {
    this.#processes = options.processes ?? Math.min(4, Math.max(2, availableParallelism()));
    const bounds = { calls: options.queuedCalls ?? 10_000, bytes: options.queuedBytes ?? 256 * 1024 * 1024 };
    this.#queue = new CallQueue(bounds, this.#times);
  }

  run(call: FunctionCall): Promise<FunctionResult> {
    if (Buffer.byteLength(call.input) > inputLimitBytes) {
      return Promise.resolve(functionFailure('input_limit', limitMessages.input()));
    }
    // Callers measure finer than a millisecond; JavaScript's clock does not.
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

  /** Every call not yet answered ends as `sandbox_lost`; no process is left when this resolves. */
  async close(): Promise<void> {
    this.#closed = true;
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
    for (const worker of this.#workers) {
      if (!worker.idle) continue;
      const batch = this.#queue.take(this.#slowWorkers() >= Math.max(1, this.#processes - 1));
      if (batch === undefined) return;
      this.#sentAtMs.set(batch, performance.now());
      worker.send(batch);
    }
    if (this.#queue.waitingCalls > 0 && this.#workers.size < this.#processes) this.#start();
  }

  #slowWorkers(): number {
    return [...this.#workers].filter((worker) => worker.batch?.quick === false).length;
  }

  #start(): void {
    const worker = new WorkerProcess({
      ready: () => {
        this.#failedStarts = 0;
        this.#pump();
      },
      answered: (_worker, batch, results) => {
        this.#answer(batch, results);
        this.#pump();
      },
      gone: (gone, batch, end) => this.#lost(gone, batch, end),
    });
    this.#workers.add(worker);
  }

  #answer(batch: CallBatch, results: FunctionResult[]): void {
    this.#queue.charge(batch, this.#tookMs(batch));
    for (const [index, queued] of batch.calls.entries()) {
      const result = results[index] ?? functionFailure('sandbox_lost', 'the sandbox did not answer');
      this.#times.learn(batch.functionKey, result.wallMs);
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
    if (batch !== undefined) this.#judge(batch, end);
    if (this.#closed) return;
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

  #judge(batch: CallBatch, end: WorkerEnd): void {
    const tookMs = this.#tookMs(batch);
    this.#queue.charge(batch, tookMs + restartMs);
    if (this.#closed) return this.#failAll(batch.calls, 'the sandbox was closed');
    const [only] = batch.calls;
    if (only === undefined || batch.calls.length > 1) return this.#runAgain(batch.calls);
    this.#times.learn(functionKeyOf(only.call), tookMs);
    const { limits } = only.call;
    const usage = { cpuMs: limits.cpuMs, wallMs: tookMs };
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
