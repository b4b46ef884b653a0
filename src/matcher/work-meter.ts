/**
 * Bounds the cost of matching one event for any filters and payload. One step is one array element read
 * (measured: 15 to 30 ns). A filter may spend `FILTER_STEPS`, enough for one condition to read a list of 1.5
 * million numbers, in one turn of the event loop. All filters of the event share `EVENT_STEPS`. When
 * that pool is empty, every further filter still gets `FLOOR_STEPS`, so ordinary filters keep working next to
 * hostile ones. A filter that runs out does not match. `overspent` counts those filters so that the caller
 * can record it. Measured: 1,000 filters with hostile patterns on one event take 0.1 to 0.3 s.
 */
const EVENT_STEPS = 10_000_000;
const FILTER_STEPS = 1_500_000;
const FLOOR_STEPS = 10_000;

export class WorkMeter {
  /** Filters that ran out of steps on this event. */
  overspent = 0;
  /** Steps spent so far, without those of a filter that has not ended. */
  used = 0;
  #pool: number;
  #granted = 0;
  #left = 0;

  constructor(pool = EVENT_STEPS) {
    this.#pool = pool;
  }

  begin(most = FILTER_STEPS): void {
    this.#granted = Math.max(FLOOR_STEPS, Math.min(most, this.#pool));
    this.#left = this.#granted;
  }

  /** Takes the steps if the filter still has them. A refusal empties the allowance. */
  spend(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }

  get exhausted(): boolean {
    return this.#left < 0;
  }

  end(): void {
    const spent = this.#granted - Math.max(0, this.#left);
    this.#pool -= spent;
    this.used += spent;
    if (this.exhausted) this.overspent += 1;
  }
}

/** Like `Array.some`, at one step per element. It stops when no steps are left. */
export function someItem(
  items: readonly unknown[],
  meter: WorkMeter,
  accepts: (item: unknown) => boolean,
): boolean {
  for (const item of items) {
    if (!meter.spend(1)) return false;
    if (accepts(item)) return true;
  }
  return false;
}
