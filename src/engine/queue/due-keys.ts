import type { QueueKey } from '../../domain/delivery.ts';
import type { Clock } from '../../platform/time/clock.ts';

/**
 * Where deliveries wait, by place (queue key and lane). States of each place:
 * later -> not due yet; a heap by due time knows the next;
 * ready -> due; a round checks some of these, a place of each project in turn, the longest due of each first;
 * shut  -> due, but its gate is closed. It returns when its endpoint's config changes, and by itself after a while.
 *
 * Each change costs O(log n). A round costs nothing for places that are later or shut: 10,000 endpoints with
 * open circuit breakers must not slow down the claims of others.
 */
export interface Due {
  projectId: string;
  key: QueueKey;
  lane: number;
  /** By the monotonic clock. */
  dueAt: number;
  /** The endpoint whose gate is closed. */
  shutBy?: string;
}

/** A place that is claimed. */
export interface DueKey extends Due {
  /** The earliest due time reported since this key was last chosen. Its row may be too new for the claim to see. */
  notifiedAt: number;
  /** This node caused it, so others may not know. */
  isOwn: boolean;
  /** Claims one after another that found all its due rows held by others. */
  misses: number;
}

interface Entry<T extends Due> {
  at: number;
  due: T;
}

/** Shut places return in groups, so that many of them start few rounds. */
const SHUT_GRID_MS = 100;

const idOf = (lane: number, key: string) => `${lane} ${key}`;

export class DueKeys<T extends Due = DueKey> {
  readonly #all = new Map<string, T>();
  /** By lane and project, in the order in which they became due. No set is empty. */
  readonly #ready = new Map<number, Map<string, Set<T>>>();
  readonly #shut = new Map<string, Set<T>>();
  /** A binary heap. An entry is valid only while its time is still that of its place. */
  #later: Entry<T>[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#all.size;
  }

  get(lane: number, key: string): T | undefined {
    return this.#all.get(idOf(lane, key));
  }

  add(due: T): void {
    this.#all.set(idOf(due.lane, due.key), due);
    this.#push(due);
  }

  delete(due: T): void {
    this.#all.delete(idOf(due.lane, due.key));
    this.#unready(due);
    this.#open(due);
  }

  moveTo(due: T, at: number): void {
    this.#open(due);
    if (due.dueAt === at) return;
    due.dueAt = at;
    this.#unready(due);
    this.#push(due);
  }

  /** Its gate is closed: skipped for so long, unless its endpoint changes. */
  shut(due: T, endpointId: string, forMs: number): void {
    this.moveTo(due, Math.ceil((this.#clock.elapsed() + forMs) / SHUT_GRID_MS) * SHUT_GRID_MS);
    due.shutBy = endpointId;
    const others = this.#shut.get(endpointId);
    if (others === undefined) this.#shut.set(endpointId, new Set([due]));
    else others.add(due);
  }

  /** Gates of these endpoints may have opened. True: places wait behind them. */
  reopen(endpointIds: Iterable<string>): boolean {
    const now = this.#clock.elapsed();
    let hasAny = false;
    for (const endpointId of endpointIds) {
      for (const due of this.#shut.get(endpointId) ?? []) {
        this.moveTo(due, now);
        hasAny = true;
      }
    }
    return hasAny;
  }

  isReady(lane: number): boolean {
    return (this.#ready.get(lane)?.size ?? 0) > 0;
  }

  /**
   * The ready places of a lane, one of each project in turn, without projects that have no room. Checked
   * places and projects go to the end, so the next call begins with others. Places may be moved and deleted
   * meanwhile.
   */
  *ready(lane: number, hasRoom: (projectId: string) => boolean): Generator<T> {
    const projects = this.#ready.get(lane);
    if (projects === undefined) return;
    const seen: T[] = [];
    try {
      let turns = [...projects].map(([projectId, dues]) => ({ projectId, dues: dues.values() }));
      while (turns.length > 0) {
        const served: typeof turns = [];
        for (const turn of turns) {
          if (!hasRoom(turn.projectId)) continue;
          const { value: due } = turn.dues.next();
          if (due === undefined) continue;
          served.push(turn);
          seen.push(due);
          yield due;
        }
        turns = served;
      }
    } finally {
      for (const due of seen) if (this.#unready(due)) this.#setReady(due);
    }
  }

  /** Makes places ready that are due now. */
  settle(now: number): void {
    for (let top = this.#top(); top !== undefined && top.at <= now; top = this.#top()) {
      this.#pop();
      this.#open(top.due);
      this.#setReady(top.due);
    }
  }

  /** When the next becomes ready. It may be due already. */
  next(): number {
    return this.#top()?.at ?? Number.POSITIVE_INFINITY;
  }

  #setReady(due: T): void {
    const projects = this.#ready.get(due.lane) ?? new Map<string, Set<T>>();
    const dues = projects.get(due.projectId) ?? new Set();
    this.#ready.set(due.lane, projects.set(due.projectId, dues.add(due)));
  }

  /** False: it was not ready. A project with other ready places goes to the end of its lane. */
  #unready(due: T): boolean {
    const projects = this.#ready.get(due.lane);
    const dues = projects?.get(due.projectId);
    if (projects === undefined || dues === undefined || !dues.delete(due)) return false;
    projects.delete(due.projectId);
    if (dues.size > 0) projects.set(due.projectId, dues);
    return true;
  }

  #isReady(due: T): boolean {
    return this.#ready.get(due.lane)?.get(due.projectId)?.has(due) === true;
  }

  #open(due: T): void {
    if (due.shutBy === undefined) return;
    const others = this.#shut.get(due.shutBy);
    others?.delete(due);
    if (others?.size === 0) this.#shut.delete(due.shutBy);
    delete due.shutBy;
  }

  #isCurrent({ at, due }: Entry<T>): boolean {
    return due.dueAt === at && !this.#isReady(due) && this.#all.get(idOf(due.lane, due.key)) === due;
  }

  #top(): Entry<T> | undefined {
    for (;;) {
      const top = this.#later[0];
      if (top === undefined || this.#isCurrent(top)) return top;
      this.#pop();
    }
  }

  #push(due: T): void {
    // Most entries are outdated, so the heap is rebuilt from the valid ones.
    if (this.#later.length > 2 * this.#all.size + 1_000) {
      this.#later = this.#later.filter((entry) => this.#isCurrent(entry)).sort((a, b) => a.at - b.at);
    }
    const heap = this.#later;
    let at = heap.push({ at: due.dueAt, due }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as Entry<T>).at <= (heap[at] as Entry<T>).at) return;
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
        if (child < heap.length && (heap[child] as Entry<T>).at < (heap[least] as Entry<T>).at) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#later;
    const entry = heap[a] as Entry<T>;
    heap[a] = heap[b] as Entry<T>;
    heap[b] = entry;
  }
}
