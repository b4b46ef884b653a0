import { WorkMeter } from '../matcher/work-meter.ts';

/** A node of a schema costs about so many steps of the meter. */
const STEPS_PER_NODE = 8;
/** 500,000 nodes: a payload of a megabyte has its check. */
const MOST_STEPS = 4_000_000;
const MAX_PROBLEMS = 5;
const MAX_DEPTH = 200;

export interface SchemaProblem {
  /** Such as `data.lines[0].sku`. */
  field: string;
  problem: string;
}

/** One check of one value: bounded in work and depth, since schema and value are written by others. */
export class SchemaRun {
  readonly problems: SchemaProblem[] = [];
  readonly meter: WorkMeter;
  #muted = 0;
  #depth = 0;
  #isOver = false;

  constructor(meter = new WorkMeter()) {
    this.meter = meter;
    meter.begin({ most: MOST_STEPS });
  }

  /** It needed more work than allowed, so it has no result. */
  get isOver(): boolean {
    return this.#isOver || this.meter.exhausted;
  }

  /** False: there is no work left. */
  spend(nodes = 1): boolean {
    return this.meter.spend(nodes * STEPS_PER_NODE) && !this.#isOver;
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
    return run.meter.spend(text.length) ? text : null;
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
