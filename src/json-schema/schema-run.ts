import type { BoundedRegex } from '../matcher/bounded-regex.ts';
import { PAUSE, WorkMeter } from '../matcher/work-meter.ts';

/** A node of a schema costs about so many steps of the meter. */
const STEPS_PER_NODE = 8;
/** 500,000 nodes: a payload of a megabyte has its check. */
const MOST_STEPS = 4_000_000;
/** A check pauses after so many steps, about 1 to 4 ms. */
const STEPS_AT_ONCE = 50_000;
const MAX_PROBLEMS = 5;
const MAX_DEPTH = 200;

export interface SchemaProblem {
  /** Such as `data.lines[0].sku`. */
  field: string;
  problem: string;
}

/**
 * One check of one value: bounded in work and depth, since schema and value are written by others.
 *
 * A check pauses by an error that is thrown through its rules, and then begins again. It keeps the loops that it is in, so
 * that each goes on where it was. Loops that have ended are not repeated, and the way to where it was costs no steps.
 */
export class SchemaRun {
  readonly problems: SchemaProblem[] = [];
  readonly #meter: WorkMeter;
  readonly #stepsAtOnce: number;
  #muted = 0;
  #depth = 0;
  #isOver = false;
  #pauseAt = Number.NEGATIVE_INFINITY;
  /** The values that `keep` keeps, one of each loop that it is in. */
  readonly #kept: unknown[] = [];
  #entered = 0;

  constructor(meter = new WorkMeter(), stepsAtOnce = STEPS_AT_ONCE) {
    this.#meter = meter;
    this.#stepsAtOnce = stepsAtOnce;
    meter.begin({ most: MOST_STEPS });
  }

  /** Checks for a slice. False: it pauses. */
  next(rule: () => unknown): boolean {
    this.#entered = 0;
    this.#pauseAt = this.#meter.left - this.#stepsAtOnce;
    try {
      rule();
    } catch (error) {
      if (error === PAUSE) return false;
      throw error;
    }
    this.#meter.end();
    return true;
  }

  /** It needed more work than allowed, so it has no result. */
  get isOver(): boolean {
    return this.#isOver || this.#meter.exhausted;
  }

  /** False: there is no work left. */
  spend(nodes = 1): boolean {
    return this.pay(nodes * STEPS_PER_NODE) && !this.#isOver;
  }

  pay(steps: number): boolean {
    return this.#isOnItsWay || this.#meter.spend(steps);
  }

  search(regex: BoundedRegex, text: string): boolean {
    return regex.search(text, this.#meter) || this.#meter.exhausted;
  }

  /** The made value is still there after a pause in `work`. `make` itself does not pause. */
  keep<Kept, Result>(make: () => Kept, work: (kept: Kept) => Result): Result {
    const at = this.#entered++;
    if (at === this.#kept.length) this.#kept.push(make());
    const result = work(this.#kept[at] as Kept);
    this.#entered = at;
    this.#kept.length = at;
    return result;
  }

  /** How many items are right. */
  count<Item>(items: readonly Item[], isRight: (item: Item, at: number) => boolean): number {
    return this.keep(
      () => ({ next: 0, right: 0 }),
      (place) => {
        while (place.next < items.length) {
          if (!this.#isOnItsWay && this.#meter.left < this.#pauseAt) throw PAUSE;
          if (isRight(items[place.next] as Item, place.next)) place.right++;
          place.next++;
        }
        return place.right;
      },
    );
  }

  /** Like `every`, and goes on after a failure, so that several problems are named. */
  all<Item>(items: readonly Item[], isRight: (item: Item, at: number) => boolean): boolean {
    return this.count(items, isRight) === items.length;
  }

  /** It begins again after a pause, and is not yet where it was. */
  get #isOnItsWay(): boolean {
    return this.#entered < this.#kept.length;
  }

  /** Returns false, so that a rule can end with it. */
  fail(field: string, problem: string): false {
    if (this.#muted === 0 && this.problems.length < MAX_PROBLEMS) this.problems.push({ field, problem });
    return false;
  }

  /** A schema may refer to itself, and a value may be nested deeply. */
  deeper(check: () => boolean): boolean {
    if (this.#depth >= MAX_DEPTH) this.#isOver = true;
    if (this.#isOver) return true;
    this.#depth += 1;
    try {
      return check();
    } finally {
      this.#depth -= 1;
    }
  }

  /** For a part that may fail without the whole failing. */
  quietly(check: () => boolean): boolean {
    this.#muted += 1;
    try {
      return check();
    } finally {
      this.#muted -= 1;
    }
  }
}

/** A text that is the same for equal values. Null: there is no work left. */
export function canonical(value: unknown, run: SchemaRun): string | null {
  if (!run.spend()) return null;
  if (typeof value !== 'object' || value === null) {
    const text = JSON.stringify(value) ?? 'null';
    return run.pay(text.length) ? text : null;
  }
  let text: string | null = null;
  run.deeper(() => {
    text = Array.isArray(value) ? listText(value, run) : objectText(value as Record<string, unknown>, run);
    return true;
  });
  return text;
}

function listText(items: readonly unknown[], run: SchemaRun): string | null {
  const parts = items.map((item) => canonical(item, run));
  return parts.includes(null) ? null : `[${parts.join(',')}]`;
}

function objectText(value: Record<string, unknown>, run: SchemaRun): string | null {
  const names = Object.keys(value).sort((a, b) => (a < b ? -1 : 1));
  const parts = names.map((name) => {
    const text = canonical(value[name], run);
    return text === null ? null : `${JSON.stringify(name)}:${text}`;
  });
  return parts.includes(null) ? null : `{${parts.join(',')}}`;
}
