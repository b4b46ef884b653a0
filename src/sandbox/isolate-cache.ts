/**
 * The isolates of one sandbox process, least recently used first. There is one isolate per tenant, version
 * and heap limit. At most `limit` are kept, and none that is spent.
 */
import { type FunctionResult, functionFailure, limitMessages, wallTimes } from './contract.ts';
import { FunctionIsolate } from './function-isolate.ts';
import type { WorkerCall } from './protocol.ts';
import type { Watchdog } from './watchdog.ts';

/** The error of the CPU clock. */
const tickMs = 10;

export class IsolateCache {
  readonly #kept = new Map<string, FunctionIsolate>();
  readonly #limit: number;
  readonly #watchdog: Watchdog;

  constructor(limit: number, watchdog: Watchdog) {
    this.#limit = limit;
    this.#watchdog = watchdog;
  }

  /**
   * The isolate's timer measures only wall time. Other processes starved a run that it stopped before the CPU
   * time was used up. Such a run is repeated with more time, which is safe because runs have no effects.
   */
  run(call: WorkerCall): FunctionResult {
    const { cpuMs } = call.limits;
    for (const wallMs of wallTimes(cpuMs)) {
      const result = this.#runOnce(call, wallMs);
      const stoppedEarly = !result.ok && result.error === 'cpu_limit' && result.cpuMs < cpuMs * 0.8;
      if (stoppedEarly) continue;
      const tooLong = result.ok && result.cpuMs > cpuMs + tickMs;
      return tooLong ? functionFailure('cpu_limit', limitMessages.cpu(call.limits), result) : result;
    }
    return functionFailure('sandbox_lost', 'the machine is too busy to run the function');
  }

  #runOnce(call: WorkerCall, wallMs: number): FunctionResult {
    const key = JSON.stringify([call.tenant, call.version, call.limits.heapBytes]);
    this.#watchdog.began(call.limits);
    try {
      const isolate = this.#kept.get(key) ?? new FunctionIsolate(call.code, call.limits.heapBytes);
      this.#kept.delete(key);
      const result = isolate.run(call, wallMs);
      if (isolate.spent) isolate.dispose();
      else this.#keep(key, isolate);
      return result;
    } finally {
      this.#watchdog.ended();
    }
  }

  #keep(key: string, isolate: FunctionIsolate): void {
    this.#kept.set(key, isolate);
    if (this.#kept.size <= this.#limit) return;
    for (const [oldest, unused] of this.#kept) {
      this.#kept.delete(oldest);
      unused.dispose();
      return;
    }
  }
}
