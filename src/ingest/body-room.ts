import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../domain/errors.ts';
import { sizedTo } from '../platform/memory/usable-memory.ts';
import { type Visitor, WaitingRoom } from './waiting-room.ts';

/**
 * Room for large request bodies, from before they are read until they are answered. States of a request:
 * small   -> passes;
 * in      -> has its bytes of the room, until its response is sent or its connection breaks;
 * waiting -> its body is not read, so TCP slows the sender down; each leaving request admits those that fit, in
 *            order of arrival;
 * refused -> after WAIT_MS, or at once if too many wait: 429.
 *
 * Reading and parsing a body that is then refused would take time from the events that are stored.
 */
const SMALL_BYTES = 64 * 1024;
/** The assumed size of a body of unknown length. */
const UNKNOWN_BYTES = 1024 * 1024;
const MOST = { events: 10_000, bytes: 64 * 1024 * 1024 };
/** On the smallest machine too. A body of the default limit, 5 MB, must find room. */
const LEAST_BYTES = 16 * 1024 * 1024;
const WAITING = { events: 2_000, bytes: Number.MAX_SAFE_INTEGER };
const WAIT_MS = 2_000;
const RETRY_SECONDS = 1;

interface Waiter {
  visitor: Visitor;
  admitted(): void;
}

export class BodyRoom {
  readonly #in = new WaitingRoom({ ...MOST, bytes: Math.max(LEAST_BYTES, sizedTo(MOST.bytes)) });
  /** Places to wait in. One project has at most half of them. */
  readonly #places = new WaitingRoom(WAITING);
  readonly #waiting = new Set<Waiter>();

  /** Resolves when the body may be read. The place is freed automatically. */
  async enter(projectId: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = declaredBytes(request);
    if (bytes < SMALL_BYTES) return;
    const visitor = { projectId, bytes };
    if (!this.#in.enter(visitor)) await this.#wait(visitor);
    // The connection may have broken while it waited. No close event follows then.
    if (response.destroyed || response.closed) this.#leave(visitor);
    else response.once('close', () => this.#leave(visitor));
  }

  async #wait(visitor: Visitor): Promise<void> {
    const place = { projectId: visitor.projectId, bytes: 0 };
    if (!this.#places.enter(place)) throw new AppError('overloaded', { retry: RETRY_SECONDS });
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { visitor, admitted: () => resolve(true) };
    const timer = setTimeout(() => resolve(false), WAIT_MS);
    this.#waiting.add(waiter);
    const isIn = await promise;
    clearTimeout(timer);
    this.#waiting.delete(waiter);
    this.#places.leave(place);
    if (!isIn) throw new AppError('overloaded', { retry: RETRY_SECONDS });
  }

  #leave(visitor: Visitor): void {
    this.#in.leave(visitor);
    for (const waiter of this.#waiting) {
      if (!this.#in.enter(waiter.visitor)) continue;
      this.#waiting.delete(waiter);
      waiter.admitted();
    }
  }
}

function declaredBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return UNKNOWN_BYTES;
  return Number(headers['content-length'] ?? 0);
}
