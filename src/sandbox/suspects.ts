/**
 * Functions that ended at a limit or ended their process, and their tenants. For ten minutes after the last time such
 * a function, and every function of its tenant that is not proven (run-times.ts), runs in a process for suspects, so
 * that others do not wait for it to be ended and replaced. A tenant's proven functions stay where they are.
 */
const suspectMs = 10 * 60_000;

export class Suspects {
  /** By tenant and by function, when it is trusted again; the latest last. */
  readonly #until = new Map<string, number>();

  add({ tenant, functionKey }: { tenant: string; functionKey: string }): void {
    const now = performance.now();
    for (const name of [tenant, functionKey]) {
      this.#until.delete(name);
      this.#until.set(name, now + suspectMs);
    }
    for (const [earliest, untilMs] of this.#until) {
      if (untilMs > now) return;
      this.#until.delete(earliest);
    }
  }

  has(tenantOrFunction: string): boolean {
    const untilMs = this.#until.get(tenantOrFunction);
    return untilMs !== undefined && untilMs > performance.now();
  }
}
