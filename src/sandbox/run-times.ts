/**
 * How long each function took lately, so that slow ones can be kept from quick ones. A slow run is
 * forgotten only by a tenth with each quick one after it, so a function that is slow now and then stays
 * slow. One never seen counts as slow.
 */
const quickMs = 5;
const unknownMs = 10;
const rememberedFunctions = 10_000;

export class RunTimes {
  readonly #lastMs = new Map<string, number>();

  learn(functionKey: string, tookMs: number): void {
    const before = this.#lastMs.get(functionKey) ?? 0;
    this.#lastMs.delete(functionKey);
    this.#lastMs.set(functionKey, Math.max(tookMs, before * 0.9));
    if (this.#lastMs.size <= rememberedFunctions) return;
    for (const oldest of this.#lastMs.keys()) {
      this.#lastMs.delete(oldest);
      return;
    }
  }

  expectedMs(functionKey: string): number {
    return this.#lastMs.get(functionKey) ?? unknownMs;
  }

  isQuick(functionKey: string): boolean {
    return this.expectedMs(functionKey) <= quickMs;
  }
}
