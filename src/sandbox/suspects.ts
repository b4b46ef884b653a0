/**
 * Tenants whose functions ended at a limit or ended their process. For ten minutes after the last time they
 * run in a process of their own, so that nobody else waits for it to be ended and replaced.
 */
const suspectMs = 10 * 60_000;

export class Suspects {
  /** By tenant, when it is trusted again; the latest last. */
  readonly #until = new Map<string, number>();

  add(tenant: string): void {
    const now = performance.now();
    this.#until.delete(tenant);
    this.#until.set(tenant, now + suspectMs);
    for (const [earliest, untilMs] of this.#until) {
      if (untilMs > now) return;
      this.#until.delete(earliest);
    }
  }

  has(tenant: string): boolean {
    const untilMs = this.#until.get(tenant);
    return untilMs !== undefined && untilMs > performance.now();
  }
}
