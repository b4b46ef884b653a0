import { type Clock, systemClock } from '../platform/time/clock.ts';
import type { IdFactory } from './ids.ts';

/**
 * The ids of events that this node has taken and whose commit it does not know yet. Work that reads events in id order
 * reads only up to the oldest of them, so that it skips none (src/jobs/settled-ids.ts).
 *   held     -> from `take` to `release`, also while the event is matched again or its batch is sent again;
 *   unsure   -> the answer of the database was lost. Its statement may still run, up to the server's limit of 8 s;
 *   released -> the event is committed and visible, or never will be.
 *
 * Ids of the factory only grow, so the ids in the set are in order, and an id taken now is below all that follow.
 */
const UNSURE_MS = 10_000;

export class InFlightIds {
  readonly #ids: Pick<IdFactory, 'next'>;
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #held = new Set<string>();
  #unsure: { id: string; until: number }[] = [];

  constructor(ids: Pick<IdFactory, 'next'>, clock: Pick<Clock, 'elapsed'> = systemClock) {
    this.#ids = ids;
    this.#clock = clock;
  }

  /** A new id, held until its release. It also holds every id that is taken from the factory meanwhile. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type comes from the caller
  take<T extends string = string>(): T {
    const id = this.#ids.next<T>();
    this.#held.add(id);
    return id;
  }

  release(id: string): void {
    this.#held.delete(id);
  }

  /** A statement with these ids was sent and not answered. */
  unsure(ids: readonly string[]): void {
    const id = least(ids);
    if (id !== undefined) this.#unsure.push({ id, until: this.#clock.elapsed() + UNSURE_MS });
  }

  /** No event with an id below this one will be committed by this node. */
  oldest(): string {
    const now = this.#clock.elapsed();
    this.#unsure = this.#unsure.filter(({ until }) => until > now);
    const first = this.#held.values().next().value ?? this.#ids.next();
    return least([first, ...this.#unsure.map(({ id }) => id)]) as string;
  }
}

function least(ids: readonly string[]): string | undefined {
  return ids.reduce<string | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
}
