/**
 * Event-type patterns: an exact name, `*` for all, or a trailing glob. The glob `invoice.*` matches every
 * name that begins with `invoice.`. A star anywhere else is an ordinary character.
 */
const STAR = '*';

export function matchesEventType(pattern: string, eventType: string): boolean {
  if (pattern.endsWith(STAR)) return eventType.startsWith(pattern.slice(0, -1));
  return pattern === eventType;
}

interface Entry<Value> {
  readonly order: number;
  readonly value: Value;
}

/**
 * The values whose pattern matches an event type. A lookup costs one map access for the exact name and one
 * per distinct length of glob prefix (`*` has length 0), independent of the number of patterns. Built once
 * per config change, then immutable.
 */
export class EventTypeIndex<Value> {
  readonly #exact = new Map<string, Entry<Value>[]>();
  readonly #byPrefix = new Map<string, Entry<Value>[]>();
  readonly #prefixLengths: readonly number[];

  constructor(patterns: Iterable<readonly [pattern: string, value: Value]>) {
    let order = 0;
    for (const [pattern, value] of patterns) {
      if (pattern.endsWith(STAR)) append(this.#byPrefix, pattern.slice(0, -1), { order, value });
      else append(this.#exact, pattern, { order, value });
      order += 1;
    }
    const lengths = new Set([...this.#byPrefix.keys()].map((prefix) => prefix.length));
    this.#prefixLengths = [...lengths].sort((left, right) => left - right);
  }

  /** In the order of the pairs. A value with several matching patterns occurs once for each. */
  candidates(eventType: string): Value[] {
    const found: Entry<Value>[][] = [];
    const exact = this.#exact.get(eventType);
    if (exact !== undefined) found.push(exact);
    for (const length of this.#prefixLengths) {
      if (length > eventType.length) break;
      const globs = this.#byPrefix.get(eventType.slice(0, length));
      if (globs !== undefined) found.push(globs);
    }
    // Each list is sorted already; only a mixture needs sorting.
    const entries = found.length === 1 ? found[0]! : found.flat().sort((a, b) => a.order - b.order);
    return entries.map(({ value }) => value);
  }
}

function append<Value>(map: Map<string, Entry<Value>[]>, key: string, entry: Entry<Value>): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}
