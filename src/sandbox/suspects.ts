/**
 * Functions that ended at a limit or ended their process, and their tenants. For ten minutes after the last
 * such end, the function and every unproven function (run-times.ts) of its tenant run in the process for
 * suspects. Other tenants then do not wait while it is ended and replaced. The tenant's proven functions stay
 * where they are.
 */
const suspectMs = 10 * 60_000;

export class Suspects {
  /** The time at which each tenant and function is trusted again, latest last. */
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
