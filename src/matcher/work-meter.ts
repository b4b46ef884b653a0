/**
 * Bounds the cost of matching one event for any filters and payload. One step is one array element read
 * (measured: 15 to 30 ns). A filter may spend `FILTER_STEPS`, enough for one condition to read a list of 1.5
 * million numbers. All filters of the event share `EVENT_STEPS`. When
 * that pool is empty, every further filter still gets `FLOOR_STEPS`, so ordinary filters keep working next to
 * hostile ones. A filter that runs out does not match. `overspent` counts those filters so that the caller
 * can record it. Measured: 1,000 filters with hostile patterns on one event take 0.1 to 0.3 s.
 */
const EVENT_STEPS = 10_000_000;
const FILTER_STEPS = 1_500_000;
const FLOOR_STEPS = 10_000;

/** A longer text or list is read in slices of so many characters or items, where the filter may pause. */
export const READ_AT_ONCE = 32_000;

/** A long read, which yields after each slice. */
export type LongRead = Generator<void, boolean>;

/** Thrown through a filter that pauses. It begins again later, and has the results of its long reads then. */
export const PAUSE = new Error('the filter pauses');

interface BegunRead {
  read: LongRead;
  steps: number;
  result: boolean | undefined;
}

export class WorkMeter {
  /** Filters that ran out of steps on this event. */
  overspent = 0;
  /** Steps spent so far, without those of a filter that has not ended. */
  used = 0;
  #pool: number;
  #granted = 0;
  #left = 0;
  /** The long reads of a filter that pauses, in their order, with the steps of each. */
  #reads: BegunRead[] | undefined;
  #nextRead = 0;
  #isReading = false;

  constructor(pool = EVENT_STEPS) {
    this.#pool = pool;
  }

  begin({ most = FILTER_STEPS, mayPause = false } = {}): void {
    this.#granted = Math.max(FLOOR_STEPS, Math.min(most, this.#pool));
    this.#reads = mayPause ? [] : undefined;
    this.resume();
  }

  /** The filter begins again after a pause. It spends the same steps again, those of its long reads included. */
  resume(): void {
    this.#left = this.#granted;
    this.#nextRead = 0;
  }

  /** The result of a long read. If the filter may pause, it does after each slice. A read within a read does not. */
  read(begin: () => LongRead): boolean {
    if (this.#reads === undefined || this.#isReading) return resultOf(begin());
    const one = (this.#reads[this.#nextRead++] ??= { read: begin(), steps: 0, result: undefined });
    this.#left -= one.steps;
    if (one.result !== undefined) return one.result;
    const before = this.#left;
    this.#isReading = true;
    const slice = one.read.next();
    this.#isReading = false;
    one.steps += before - this.#left;
    if (slice.done === true) one.result = slice.value;
    throw PAUSE;
  }

  /** Takes the steps if the filter still has them. A refusal empties the allowance. */
  spend(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }

  /** The steps that the filter still has. */
  get left(): number {
    return this.#left;
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

type Accepts = (item: unknown) => boolean;

/** Like `Array.some`, at one step per element. It stops when no steps are left. */
export function someItem(items: readonly unknown[], meter: WorkMeter, accepts: Accepts): boolean {
  const search = { items, meter, accepts };
  return items.length > READ_AT_ONCE
    ? meter.read(() => someInSlices(search))
    : someOf(search, 0, items.length);
}

interface Search {
  items: readonly unknown[];
  meter: WorkMeter;
  accepts: Accepts;
}

function someOf({ items, meter, accepts }: Search, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (!meter.spend(1)) return false;
    if (accepts(items[at])) return true;
  }
  return false;
}

function* someInSlices(search: Search): LongRead {
  const { items, meter } = search;
  for (let at = 0; at < items.length && !meter.exhausted; at += READ_AT_ONCE) {
    if (at > 0) yield;
    if (someOf(search, at, Math.min(items.length, at + READ_AT_ONCE))) return true;
  }
  return false;
}

/** Does work that yields in one go. */
export function resultOf<Result>(work: Generator<void, Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}
