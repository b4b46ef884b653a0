import { sizedTo } from '../platform/memory/usable-memory.ts';
import { SharedRoom } from '../platform/shared-room.ts';

/**
 * Room for the events on their way into the database, by number and by bytes. A project may use as much as is
 * left over. One project alone fills half, never all, so the others always find room.
 */
export interface Visitor {
  projectId: string;
  bytes: number;
  /** One where it is not given. */
  events?: number;
}

const EVENTS = 20_000;
const BYTES = 128 * 1024 * 1024;

export class WaitingRoom {
  readonly #events: SharedRoom;
  readonly #bytes: SharedRoom;

  constructor(most = { events: EVENTS, bytes: sizedTo(BYTES) }) {
    this.#events = new SharedRoom(most.events);
    this.#bytes = new SharedRoom(most.bytes);
  }

  /** False: there is no room. */
  enter({ projectId, bytes, events = 1 }: Visitor): boolean {
    if (!this.#events.enter(projectId, events)) return false;
    if (this.#bytes.enter(projectId, bytes)) return true;
    this.#events.leave(projectId, events);
    return false;
  }

  leave({ projectId, bytes, events = 1 }: Visitor): void {
    this.#events.leave(projectId, events);
    this.#bytes.leave(projectId, bytes);
  }
}
