/**
 * Tells a broken resolver (ours) from a broken name (theirs). A name that fails says nothing by itself: its own
 * name servers may be down. Only when at least two unrelated names failed within the last minute and none was
 * answered (NXDOMAIN counts as an answer) do we take the fault as ours. Names are related when they share their
 * last two labels. At most 64 failed names are remembered.
 */

const WINDOW_MS = 60_000;
const MAX_NAMES = 64;

export class ResolverHealth {
  readonly #now: () => number;
  #answeredAt = Number.NEGATIVE_INFINITY;
  readonly #failedAt = new Map<string, number>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  recordAnswer(): void {
    this.#answeredAt = this.#now();
    this.#failedAt.clear();
  }

  recordFailure(name: string): void {
    const family = familyOf(name);
    this.#failedAt.delete(family);
    this.#failedAt.set(family, this.#now());
    if (this.#failedAt.size > MAX_NAMES) this.#failedAt.delete(this.#failedAt.keys().next().value!);
  }

  get resolverIsDown(): boolean {
    const since = this.#now() - WINDOW_MS;
    if (this.#answeredAt > since) return false;
    let recent = 0;
    for (const at of this.#failedAt.values()) if (at > since) recent++;
    return recent >= 2;
  }
}

function familyOf(name: string): string {
  return name.split('.').slice(-2).join('.');
}
