import type { promises as dns } from 'node:dns';

/**
 * Distinguishes a broken resolver (our fault) from a broken name (the endpoint's). A name that fails proves
 * nothing, because its own name servers may be down. So a failure is followed by a query for its top-level
 * domain, whose servers are not the endpoint's. Any answer to that, NXDOMAIN included, shows that our
 * resolver works. All current failures share the check, and its result is cached for a second.
 */

const CHECK_HOLDS_MS = 1_000;

export class ResolverHealth {
  readonly #newDns: () => dns.Resolver;
  #dns: dns.Resolver | null = null;
  #check: Promise<boolean> | null = null;
  #changedAt = Number.NEGATIVE_INFINITY;
  #isDown = false;

  constructor(newDns: () => dns.Resolver) {
    this.#newDns = newDns;
  }

  /** The result of the last check. */
  get isDown(): boolean {
    return this.#isDown;
  }

  recordAnswer(): void {
    this.#set(false);
  }

  /** Call when a query for `host` failed. Resolves to true when the resolver itself is at fault. */
  async checkAfterFailureOf(host: string): Promise<boolean> {
    if (performance.now() - this.#changedAt < CHECK_HOLDS_MS) return this.#isDown;
    this.#check ??= this.#askTopLevel(host.slice(host.lastIndexOf('.') + 1)).finally(() => {
      this.#check = null;
    });
    return this.#check;
  }

  close(): void {
    this.#dns?.cancel();
  }

  async #askTopLevel(domain: string): Promise<boolean> {
    this.#dns = this.#newDns();
    try {
      await this.#dns.resolveNs(domain);
      this.#set(false);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      this.#set(code !== 'ENOTFOUND' && code !== 'ENODATA');
    }
    return this.#isDown;
  }

  #set(isDown: boolean): void {
    this.#isDown = isDown;
    this.#changedAt = performance.now();
  }
}
