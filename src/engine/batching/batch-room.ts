import { sizedTo } from '../../platform/memory/usable-memory.ts';
import { SharedRoom } from '../../platform/shared-room.ts';

/**
 * Bytes of batches that a node has in memory, from before their deliveries are read until their outcome is recorded. A
 * project may have three times as much as it leaves free, so batches to an endpoint that hangs leave room to other
 * projects. A batch without room waits. Those of a project enter in order.
 */
const MOST_BYTES = 128 * 1024 * 1024;
const GREED = 3;
/** Its deliveries, and the body that is made of them. */
const COPIES = 2;

interface Place {
  id: string;
  projectId: string;
  bytes: number;
}

export class BatchRoom {
  readonly #most: number;
  readonly #room: SharedRoom;
  readonly #inside = new Map<string, Place>();
  #waiting: (Place & { enter(): void })[] = [];

  constructor(most = sizedTo(MOST_BYTES)) {
    this.#most = most;
    this.#room = new SharedRoom(most, GREED);
  }

  get used(): number {
    return this.#room.used;
  }

  /** A batch that is larger than half of the room takes half of it, otherwise it would never enter. */
  async enter({ id, projectId }: { id: string; projectId: string }, bytes: number): Promise<void> {
    const place = { id, projectId, bytes: Math.min(bytes * COPIES, Math.floor(this.#most / 2)) };
    const isFirst = this.#waiting.every((other) => other.projectId !== projectId);
    if (isFirst && this.#admits(place)) return;
    await new Promise<void>((enter) => this.#waiting.push({ ...place, enter }));
  }

  /** Its outcome is recorded, or it is not known any more. */
  leave(id: string): void {
    const place = this.#inside.get(id);
    if (place === undefined) return;
    this.#inside.delete(id);
    this.#room.leave(place.projectId, place.bytes);
    const blocked = new Set<string>();
    this.#waiting = this.#waiting.filter((next) => {
      if (blocked.has(next.projectId) || !this.#admits(next)) {
        blocked.add(next.projectId);
        return true;
      }
      next.enter();
      return false;
    });
  }

  #admits({ id, projectId, bytes }: Place): boolean {
    if (bytes > this.#room.left(projectId)) return false;
    this.#room.take(projectId, bytes);
    this.#inside.set(id, { id, projectId, bytes });
    return true;
  }
}
