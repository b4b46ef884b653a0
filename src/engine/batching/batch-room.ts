import type { LeasedBatch } from '../../domain/delivery.ts';
import { sizedTo } from '../../platform/memory/usable-memory.ts';
import { SharedRoom } from '../../platform/shared-room.ts';
import type { BatchSize } from '../../store/batching/take-batch.ts';

/**
 * Bytes of batches that a node has in memory, from before their deliveries are read until their outcome is recorded. A
 * project may have three times as much as it leaves free, so batches to an endpoint that hangs leave room to other
 * projects. A batch without room waits. Those of a project enter in order.
 *
 * One batch at a time may be in excess of the room: one that has waited longest, of a project that has none inside. So a
 * large one enters though small ones of other projects keep the room full, and also if it is larger than the room.
 */
const MOST_BYTES = 128 * 1024 * 1024;
const GREED = 3;
/** A payload is in its delivery, and in the body that is made of all. */
const COPIES = 2;
/** Measured: 1.2 kB for a delivery with its ids, and 0.55 kB for its outcome. */
const DELIVERY_BYTES = 1_800;

/** The bytes of a batch in memory. */
export const memoryOf = (
  { deliveryIds }: Pick<LeasedBatch, 'deliveryIds'>,
  { payloadBytes, textBytes }: BatchSize,
): number => deliveryIds.length * DELIVERY_BYTES + textBytes + payloadBytes * COPIES;

interface Place {
  id: string;
  projectId: string;
  bytes: number;
}

export class BatchRoom {
  readonly #room: SharedRoom;
  readonly #inside = new Map<string, Place>();
  #waiting: (Place & { enter(): void })[] = [];
  /** The one in excess. */
  #excess: Place | undefined;

  constructor(most = sizedTo(MOST_BYTES)) {
    this.#room = new SharedRoom(most, GREED);
  }

  /** Without the one in excess. */
  get used(): number {
    return this.#room.used;
  }

  /** False: the signal fired before there was room. */
  async enter(
    { id, projectId }: { id: string; projectId: string },
    bytes: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (signal.aborted) return false;
    const place = { id, projectId, bytes };
    const isFirst = this.#waiting.every((other) => other.projectId !== projectId);
    if (isFirst && this.#admits(place)) return true;
    return new Promise((resolve) => {
      const giveUp = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        resolve(false);
        this.#callNext();
      };
      const enter = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(true);
      };
      const waiting = { ...place, enter };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** Its outcome is recorded, or it is not known any more. */
  leave(id: string): void {
    const place = this.#inside.get(id);
    if (place === undefined) return;
    this.#inside.delete(id);
    if (place === this.#excess) this.#excess = undefined;
    else this.#room.leave(place.projectId, place.bytes);
    this.#callNext();
  }

  #callNext(): void {
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

  #admits(place: Place): boolean {
    const { id, projectId, bytes } = place;
    if (bytes <= this.#room.left(projectId)) this.#room.take(projectId, bytes);
    else if (this.#excess === undefined && this.#room.usedBy(projectId) === 0) this.#excess = place;
    else return false;
    this.#inside.set(id, place);
    return true;
  }
}
