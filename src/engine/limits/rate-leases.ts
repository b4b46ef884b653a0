import type { Place } from '../../domain/delivery.ts';
import { Loop } from '../../platform/loop.ts';
import {
  dropRateLeases,
  notifyDueAnywhere,
  returnRateLeases,
  type TakenLease,
  takeRateLeases,
} from '../../store/limits/rate-leases.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { RateGroup } from './rate-group.ts';

/**
 * The rate leases of this node: the limited endpoints for which it alone claims and sends. States of each
 * endpoint:
 *   none   -> requested when its rows wait here. If another live node has the lease, it stays there and is notified;
 *   leased -> this node claims its rows and counts its sends, without the database, while its own lease is fresh. It
 *             is released when the node stops, and dropped when it has been idle for longer than its limits reach;
 *   suspended -> this node's own lease was not fresh for a moment, so another may have taken the rate lease. Nothing is
 *             sent, ready deliveries return to the queue, and it is requested again. If it never changed hands, the
 *             count continues.
 *
 * One statement at a time, for all endpoints together. An answer that crossed a suspension is void. After a
 * statement whose answer was lost its endpoints rest until it can no longer run.
 */
export interface RateLeasesDeps extends EnginePart<'db' | 'nodeId' | 'clock' | 'log'> {
  /** The rows of a place can be claimed now, or requested again in so many milliseconds. */
  waiting(place: Place, inMs: number): void;
}

interface Asked {
  places: Map<string, Place & { isTold: boolean }>;
}

const AFTER_ERROR_MS = 500;
/** No statement of the hot path lives longer on the server. */
const UNSURE_MS = 12_000;
const LOOK_FOR_IDLE_MS = 5_000;
const LEASES_PER_STATEMENT = 1_000;

export class RateLeases {
  readonly #deps: RateLeasesDeps;
  readonly #groups = new Map<string, RateGroup>();
  readonly #suspended = new Map<string, RateGroup>();
  /** Until when an endpoint is not requested. */
  readonly #resting = new Map<string, number>();
  readonly #asked = new Map<string, Asked>();
  /** The group of each delivery that is pending. */
  readonly #pending = new Map<string, RateGroup>();
  readonly #loop: Loop;
  #generation = 0;

  constructor(deps: RateLeasesDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#workOff(),
      onError: (error) => deps.log.error({ err: error }, 'failed to work on rate leases'),
      everyMs: LOOK_FOR_IDLE_MS,
      clock: deps.clock,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Grows whenever this node may have lost its leases. */
  get generation(): number {
    return this.#generation;
  }

  groupOf(endpointId: string): RateGroup | undefined {
    return this.#groups.get(endpointId);
  }

  /** Requests a lease. `isTold`: if another node has it, that node is notified of the place. */
  ask(endpointId: string, place: Place, isTold: boolean): void {
    if (this.#loop.isStopped) return;
    let asked = this.#asked.get(endpointId);
    if (asked === undefined) {
      asked = { places: new Map() };
      this.#asked.set(endpointId, asked);
    }
    const id = `${place.lane} ${place.key}`;
    asked.places.set(id, { ...place, isTold: isTold || asked.places.get(id)?.isTold === true });
    this.#loop.wake();
  }

  claimed(group: RateGroup, delivery: { id: string; key: string }): void {
    group.claimed(delivery.id, delivery.key);
    this.#pending.set(delivery.id, group);
  }

  /**
   * A delivery is no longer pending: it was sent, or left this node unsent. Returns the key it was claimed
   * by, if any.
   */
  left(deliveryId: string): string | undefined {
    const group = this.#pending.get(deliveryId);
    if (group === undefined) return undefined;
    this.#pending.delete(deliveryId);
    return group.left(deliveryId);
  }

  /** This node's own lease was not fresh, so others may have taken its rate leases. */
  suspend(): void {
    this.#generation += 1;
    const groups = [...this.#groups];
    this.#groups.clear();
    for (const [endpointId, group] of groups) {
      this.#suspended.set(endpointId, group);
      group.wakeAll();
    }
  }

  /** The config of these endpoints may have changed, limits and gates. */
  recount(endpoints: ReadonlyMap<string, unknown>): void {
    for (const [endpointId, group] of this.#groups) if (endpoints.has(endpointId)) group.wakeAll();
  }

  /** Releases every lease. Waiting deliveries get no turn. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    const groups = [...this.#groups];
    this.#groups.clear();
    for (const [, group] of groups) group.wakeAll();
    await stopped;
    const { db, nodeId, log } = this.#deps;
    try {
      for (const some of chunks(groups, LEASES_PER_STATEMENT)) {
        const returned = some.map(([endpointId, group]) => ({ endpointId, sends: group.sends() }));
        await returnRateLeases(db, nodeId, returned);
      }
      if (groups.length > 0) await notifyDueAnywhere(db);
    } catch (error) {
      log.warn(
        { err: error },
        'failed to release rate leases; other nodes take them when this node has left',
      );
    }
  }

  async #workOff(): Promise<void> {
    await this.#dropIdle();
    while (this.#asked.size > 0 && !this.#loop.isStopped) await this.#take();
  }

  async #take(): Promise<void> {
    const { db, nodeId, waiting, clock, log } = this.#deps;
    const asked = [...this.#asked].slice(0, LEASES_PER_STATEMENT);
    for (const [endpointId] of asked) this.#asked.delete(endpointId);
    const now = clock.elapsed();
    const isResting = ([endpointId]: [string, unknown]) => (this.#resting.get(endpointId) ?? 0) > now;
    for (const [endpointId, { places }] of asked.filter(isResting))
      for (const place of places.values()) waiting(place, (this.#resting.get(endpointId) ?? 0) - now);
    const requests = asked.filter((entry) => !isResting(entry));
    if (requests.length === 0) return;
    const generation = this.#generation;
    try {
      const taken = await takeRateLeases(
        db,
        nodeId,
        requests.map(([endpointId, { places }]) => ({
          endpointId,
          places: [...places.values()].filter(({ isTold }) => isTold),
        })),
      );
      const isCurrent = generation === this.#generation && !this.#loop.isStopped;
      const leased = new Set(taken.map(({ endpointId }) => endpointId));
      if (isCurrent) for (const lease of taken) this.#leased(lease);
      for (const [endpointId, { places }] of requests)
        if (leased.has(endpointId)) for (const place of places.values()) waiting(place, 0);
    } catch (error) {
      log.debug({ err: error }, 'failed to take rate leases; retrying');
      for (const [, { places }] of requests)
        for (const place of places.values()) waiting(place, AFTER_ERROR_MS);
    }
  }

  #leased(lease: TakenLease): void {
    const { endpointId, epoch } = lease;
    const before = this.#suspended.get(endpointId);
    this.#suspended.delete(endpointId);
    if (this.#groups.has(endpointId)) return;
    const group = before?.epoch === epoch ? before : new RateGroup(lease, this.#deps.clock);
    this.#groups.set(endpointId, group);
  }

  async #dropIdle(): Promise<void> {
    const { db, nodeId, clock, log } = this.#deps;
    const now = clock.elapsed();
    for (const [endpointId, until] of this.#resting) if (until <= now) this.#resting.delete(endpointId);
    for (const [endpointId, group] of this.#suspended) if (group.isIdle) this.#suspended.delete(endpointId);
    const idle = [...this.#groups].filter(([, group]) => group.isIdle).slice(0, LEASES_PER_STATEMENT);
    if (idle.length === 0) return;
    const endpointIds = idle.map(([endpointId]) => endpointId);
    for (const endpointId of endpointIds) this.#groups.delete(endpointId);
    try {
      await dropRateLeases(db, nodeId, endpointIds);
    } catch (error) {
      log.debug({ err: error }, 'failed to drop idle rate leases');
      for (const endpointId of endpointIds) this.#resting.set(endpointId, now + UNSURE_MS);
    }
  }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) =>
    items.slice(n * size, (n + 1) * size),
  );
}
