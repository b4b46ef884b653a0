/**
 * Room for the events on their way into the database, by number and by bytes. A project may use as much as is
 * left over. One project alone fills half, never all, so the others always find room.
 */
export interface Visitor {
  projectId: string;
  bytes: number;
}

interface Used {
  events: number;
  bytes: number;
}

const EVENTS = { events: 20_000, bytes: 128 * 1024 * 1024 };

export class WaitingRoom {
  readonly #most: Used;
  readonly #all: Used = { events: 0, bytes: 0 };
  readonly #byProject = new Map<string, Used>();

  constructor(most: Used = EVENTS) {
    this.#most = most;
  }

  /** False: there is no room. */
  enter({ projectId, bytes }: Visitor): boolean {
    const own = this.#byProject.get(projectId) ?? { events: 0, bytes: 0 };
    if (own.events >= this.#most.events - this.#all.events) return false;
    if (own.bytes + bytes > this.#most.bytes - this.#all.bytes) return false;
    this.#byProject.set(projectId, own);
    for (const used of [own, this.#all]) {
      used.events += 1;
      used.bytes += bytes;
    }
    return true;
  }

  leave({ projectId, bytes }: Visitor): void {
    const own = this.#byProject.get(projectId);
    if (own === undefined) return;
    for (const used of [own, this.#all]) {
      used.events -= 1;
      used.bytes -= bytes;
    }
    if (own.events === 0) this.#byProject.delete(projectId);
  }
}
