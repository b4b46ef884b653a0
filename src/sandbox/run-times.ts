/**
 * How much CPU time each function took recently, to keep slow functions away from quick ones. It is not wall time:
 * while hostile functions run, quick ones would look slow and lose their process. Each quick run reduces
 * the weight of an earlier slow run by a tenth, so a function that is slow now and then stays slow. An
 * unknown function counts as slow.
 *
 * A function is proven if it is quick and its last 22 runs gave a result. A run that fails is repeated in a
 * fresh context (function-isolate.ts), which takes fifty times as long.
 */
const quickMs = 5;
const unknownMs = 10;
const provenFailures = 0.1;
const rememberedFunctions = 10_000;

interface Lately {
  tookMs: number;
  /** 1 after a failed run. Each run with a result reduces it by a tenth. */
  failures: number;
}

export class RunTimes {
  readonly #lately = new Map<string, Lately>();

  learn(functionKey: string, tookMs: number, hasFailed = false): void {
    const before = this.#lately.get(functionKey) ?? { tookMs: 0, failures: 0 };
    this.#lately.delete(functionKey);
    this.#lately.set(functionKey, {
      tookMs: Math.max(tookMs, before.tookMs * 0.9),
      failures: hasFailed ? 1 : before.failures * 0.9,
    });
    if (this.#lately.size <= rememberedFunctions) return;
    for (const oldest of this.#lately.keys()) {
      this.#lately.delete(oldest);
      return;
    }
  }

  expectedMs(functionKey: string): number {
    return this.#lately.get(functionKey)?.tookMs ?? unknownMs;
  }

  isQuick(functionKey: string): boolean {
    return this.expectedMs(functionKey) <= quickMs;
  }

  isProven(functionKey: string): boolean {
    return this.isQuick(functionKey) && (this.#lately.get(functionKey)?.failures ?? 1) < provenFailures;
  }
}
