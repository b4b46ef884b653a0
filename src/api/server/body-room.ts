import { AppError } from '../../domain/errors.ts';
import { sizedTo } from '../../platform/memory/usable-memory.ts';
import { SharedRoom } from '../../platform/shared-room.ts';

/**
 * Room for request bodies in bytes, from before they are read until they are answered. Its sharers are projects, and
 * addresses of requests without one. A body that finds no room waits unread, so that TCP slows its sender down. Each body
 * that leaves admits those that fit, in order of arrival.
 *
 * Reading and parsing a body that is then refused would take time from the events that are stored.
 */
const MOST_BYTES = 64 * 1024 * 1024;
/** On the smallest machine too. */
const LEAST_BYTES = 16 * 1024 * 1024;
/** A sharer alone has half of the room, and the largest body must fit into that with its copies. */
const LARGEST_BODIES = 9;
/** A sharer alone has half of the places to wait in. */
const WAITING = 2_000;
const WAIT_MS = 2_000;
const RETRY_SECONDS = 1;

const overloaded = () => new AppError('overloaded', { retry: RETRY_SECONDS });

interface Waiter {
  sharer: string;
  bytes: number;
  admitted(): void;
}

export class BodyRoom {
  readonly #room: SharedRoom;
  readonly #places = new SharedRoom(WAITING);
  readonly #waiting = new Set<Waiter>();

  constructor(maxBodyBytes: number, most = Math.max(LEAST_BYTES, sizedTo(MOST_BYTES))) {
    this.#room = new SharedRoom(Math.max(most, LARGEST_BODIES * maxBodyBytes));
  }

  /** Undefined: it is in. Otherwise it waits, and is refused after 2 s, or at once if too many wait. */
  enter(sharer: string, bytes: number): Promise<void> | undefined {
    return this.#room.enter(sharer, bytes) ? undefined : this.#wait(sharer, bytes);
  }

  /** More bytes for a body that is being read. Throws if there is no room: a body that waits half read would keep its own. */
  grow(sharer: string, bytes: number): void {
    if (!this.#room.enter(sharer, bytes)) throw overloaded();
  }

  leave(sharer: string, bytes: number): void {
    this.#room.leave(sharer, bytes);
    for (const waiter of this.#waiting) {
      if (!this.#room.enter(waiter.sharer, waiter.bytes)) continue;
      this.#waiting.delete(waiter);
      waiter.admitted();
    }
  }

  async #wait(sharer: string, bytes: number): Promise<void> {
    if (!this.#places.enter(sharer)) throw overloaded();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { sharer, bytes, admitted: () => resolve(true) };
    const timer = setTimeout(() => resolve(false), WAIT_MS);
    this.#waiting.add(waiter);
    const isIn = await promise;
    clearTimeout(timer);
    this.#waiting.delete(waiter);
    this.#places.leave(sharer);
    if (!isIn) throw overloaded();
  }
}
