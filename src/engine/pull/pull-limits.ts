import type { LeasedDelivery } from '../../domain/delivery.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { Database } from '../../store/database/database.ts';
import { takeFromWindows } from '../../store/limits/intake-windows.ts';

/**
 * Rate limits of pull endpoints and their subscriptions. Consumers may call any node, so the database counts, as it does
 * for limits on incoming events. A limit that is used up is remembered, so that rows are not taken in vain.
 */
const MAX_REMEMBERED = 10_000;

export class PullLimits {
  readonly #deps: { db: Database; clock: Clock };
  /** Until when an endpoint is over its limit, by the monotonic clock. */
  readonly #usedUp = new BoundedMap<string, number>(MAX_REMEMBERED);

  constructor(deps: { db: Database; clock: Clock }) {
    this.#deps = deps;
  }

  /** How long nothing may be taken. */
  waitMs(endpointId: string): number {
    return Math.max(0, (this.#usedUp.get(endpointId) ?? 0) - this.#deps.clock.elapsed());
  }

  /** The deliveries that may be handed out now. */
  async allowed(
    endpointId: string,
    deliveries: readonly LeasedDelivery[],
    routing: ProjectRouting,
  ): Promise<ReadonlySet<LeasedDelivery>> {
    const limitsOf = (delivery: LeasedDelivery) => routing.limitsOf(endpointId, delivery.key);
    const wanted = new Map<string, { key: string; maxEvents: number; seconds: number; wanted: number }>();
    for (const { key, limit } of deliveries.flatMap(limitsOf)) {
      const known = wanted.get(key)?.wanted ?? 0;
      const window = { key, maxEvents: limit.count, seconds: Math.ceil(limit.durationMs / 1000) };
      wanted.set(key, { ...window, wanted: known + 1 });
    }
    if (wanted.size === 0) return new Set(deliveries);
    const grants = await takeFromWindows(this.#deps.db, [...wanted.values()]);
    const left = new Map([...grants].map(([key, { granted }]) => [key, granted]));
    const allowed = new Set<LeasedDelivery>();
    for (const delivery of deliveries) {
      const limits = limitsOf(delivery);
      if (limits.some(({ key }) => (left.get(key) ?? 0) < 1)) continue;
      for (const { key } of limits) left.set(key, (left.get(key) ?? 0) - 1);
      allowed.add(delivery);
    }
    const unused = [...wanted.values()].filter(({ key }) => (left.get(key) ?? 0) > 0);
    if (unused.length > 0)
      await takeFromWindows(
        this.#deps.db,
        unused.map((window) => ({ ...window, wanted: -(left.get(window.key) ?? 0) })),
      );
    if (allowed.size === 0) {
      const endsIn = Math.min(...[...grants.values()].map(({ endsInSeconds }) => endsInSeconds));
      this.#usedUp.set(endpointId, this.#deps.clock.elapsed() + Math.max(0, endsIn * 1000));
    }
    return allowed;
  }
}
