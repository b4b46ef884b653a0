import type { QueueKey } from '../../domain/delivery.ts';

/** A subscription with rows that wait for their batch. */
export interface Waiting {
  projectId: string;
  key: QueueKey;
  lookAt: number;
  /** It was found again since the last look began. */
  isFound: boolean;
  /** Stored by this node since the last look. */
  rows: number;
  bytes: number;
  /** As many rows or bytes are worth a look. */
  enoughRows: number;
  enoughBytes: number;
}

/** The subscriptions that are looked at, by project. Each project has its turn, and so has each key of it. */
export class WaitingKeys {
  readonly #projects = new Map<string, Map<string, Waiting>>();

  get(projectId: string, key: string): Waiting | undefined {
    return this.#projects.get(projectId)?.get(key);
  }

  set(waiting: Waiting): void {
    const keys = this.#projects.get(waiting.projectId);
    if (keys === undefined) this.#projects.set(waiting.projectId, new Map([[waiting.key, waiting]]));
    else keys.set(waiting.key, waiting);
  }

  delete({ projectId, key }: Waiting): void {
    const keys = this.#projects.get(projectId);
    keys?.delete(key);
    if (keys?.size === 0) this.#projects.delete(projectId);
  }

  /** It is looked at: the others of its project, and the other projects, come before it from now on. */
  toTheBack(waiting: Waiting): void {
    const keys = this.#projects.get(waiting.projectId);
    if (keys?.delete(waiting.key) !== true) return;
    keys.set(waiting.key, waiting);
    this.#projects.delete(waiting.projectId);
    this.#projects.set(waiting.projectId, keys);
  }

  /** The first of each project, then the second of each, and so on. */
  due(now: number): Waiting[] {
    const all: { turn: number; waiting: Waiting }[] = [];
    for (const keys of this.#projects.values()) {
      let turn = 0;
      for (const waiting of keys.values()) if (waiting.lookAt <= now) all.push({ turn: turn++, waiting });
    }
    return all.sort((a, b) => a.turn - b.turn).map(({ waiting }) => waiting);
  }

  /** When the next of them is due. */
  nextAt(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const keys of this.#projects.values())
      for (const { lookAt } of keys.values()) at = Math.min(at, lookAt);
    return at;
  }
}
