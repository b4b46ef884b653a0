/**
 * Where deliveries wait, by place (queue key and lane). Of each place:
 *
 * later -> not due yet; a heap by due time knows the next;
 * ready -> due; a round looks at all of these, so they are kept few;
 * shut  -> due, but its gate is closed. It comes back when its endpoint's config changes, and by itself after a while.
 *
 * Each change costs O(log n). A round costs nothing for the places that are later or shut: 10,000 endpoints whose
 * circuit breakers are open must not slow down the claims of others.
 */
export interface DueKey {
  projectId: string;
  key: string;
  lane: number;
  /** By the monotonic clock. */
  dueAt: number;
  /** The earliest due time told of since this key was last chosen: its row may be too new for the claim to see. */
  toldAt: number;
  /** This node brought it about, so others may not know. */
  isOwn: boolean;
  /** The endpoint whose gate is closed. */
  shutBy?: string;
}

interface Entry {
  at: number;
  due: DueKey;
}

/** Places that are shut come back in groups, so that many of them start few rounds. */
const SHUT_GRID_MS = 100;

const idOf = (lane: number, key: string) => `${lane} ${key}`;

export class DueKeys {
  readonly #all = new Map<string, DueKey>();
  readonly #ready = new Set<DueKey>();
  readonly #shut = new Map<string, Set<DueKey>>();
  /** A binary heap. An entry counts only while its time is still that of its place. */
  #later: Entry[] = [];

  get size(): number {
    return this.#all.size;
  }

  get(lane: number, key: string): DueKey | undefined {
    return this.#all.get(idOf(lane, key));
  }

  add(due: DueKey): void {
    this.#all.set(idOf(due.lane, due.key), due);
    this.#push(due);
  }

  delete(due: DueKey): void {
    this.#all.delete(idOf(due.lane, due.key));
    this.#ready.delete(due);
    this.#open(due);
  }

  moveTo(due: DueKey, at: number): void {
    this.#open(due);
    if (due.dueAt === at) return;
    due.dueAt = at;
    this.#ready.delete(due);
    this.#push(due);
  }

  /** Its gate is closed: not looked at for so long, unless its endpoint changes. */
  shut(due: DueKey, endpointId: string, forMs: number): void {
    this.moveTo(due, Math.ceil((performance.now() + forMs) / SHUT_GRID_MS) * SHUT_GRID_MS);
    due.shutBy = endpointId;
    const others = this.#shut.get(endpointId);
    if (others === undefined) this.#shut.set(endpointId, new Set([due]));
    else others.add(due);
  }

  /** Gates of these endpoints may have opened. True: places wait behind them. */
  reopen(endpointIds: Iterable<string>): boolean {
    const now = performance.now();
    let hasAny = false;
    for (const endpointId of endpointIds) {
      for (const due of this.#shut.get(endpointId) ?? []) {
        this.moveTo(due, now);
        hasAny = true;
      }
    }
    return hasAny;
  }

  /** Those due by now, the longest due first. */
  due(now: number): DueKey[] {
    this.settle(now);
    return [...this.#ready].sort((a, b) => a.dueAt - b.dueAt);
  }

  /** Makes those ready that are due by now. */
  settle(now: number): void {
    for (let top = this.#top(); top !== undefined && top.at <= now; top = this.#top()) {
      this.#pop();
      this.#open(top.due);
      this.#ready.add(top.due);
    }
  }

  /** When the next becomes ready; it may be due by now. */
  next(): number {
    return this.#top()?.at ?? Number.POSITIVE_INFINITY;
  }

  #open(due: DueKey): void {
    if (due.shutBy === undefined) return;
    const others = this.#shut.get(due.shutBy);
    others?.delete(due);
    if (others?.size === 0) this.#shut.delete(due.shutBy);
    delete due.shutBy;
  }

  #isCurrent({ at, due }: Entry): boolean {
    return due.dueAt === at && !this.#ready.has(due) && this.#all.get(idOf(due.lane, due.key)) === due;
  }

  #top(): Entry | undefined {
    for (;;) {
      const top = this.#later[0];
      if (top === undefined || this.#isCurrent(top)) return top;
      this.#pop();
    }
  }

  #push(due: DueKey): void {
    // Mostly outdated: begin again with those that count.
    if (this.#later.length > 2 * this.#all.size + 1_000) {
      this.#later = this.#later.filter((entry) => this.#isCurrent(entry)).sort((a, b) => a.at - b.at);
    }
    const heap = this.#later;
    let at = heap.push({ at: due.dueAt, due }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as Entry).at <= (heap[at] as Entry).at) return;
      this.#swap(parent, at);
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#later;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && (heap[child] as Entry).at < (heap[least] as Entry).at) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#later;
    const entry = heap[a] as Entry;
    heap[a] = heap[b] as Entry;
    heap[b] = entry;
  }
}
