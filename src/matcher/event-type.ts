/**
 * Event-type patterns: an exact name, `*` for all, or a trailing glob such as `invoice.*`, which stands for every
 * name that begins with what is before the star. A star anywhere else is an ordinary character.
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
 * The values whose pattern matches an event type, found by one lookup for the exact name and one for each length
 * that some glob's prefix has (`*` has length 0), however many patterns there are. Built once per config change
 * and never changed.
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

  /** In the order the pairs were given; a value given under several matching patterns comes once for each. */
  candidates(eventType: string): Value[] {
    const found: Entry<Value>[][] = [];
    const exact = this.#exact.get(eventType);
    if (exact !== undefined) found.push(exact);
    for (const length of this.#prefixLengths) {
      if (length > eventType.length) break;
      const globs = this.#byPrefix.get(eventType.slice(0, length));
      if (globs !== undefined) found.push(globs);
    }
    // Each list is in order already; only a mixture has to be put in order.
    const entries = found.length === 1 ? found[0]! : found.flat().sort((a, b) => a.order - b.order);
    return entries.map(({ value }) => value);
  }
}

function append<Value>(map: Map<string, Entry<Value>[]>, key: string, entry: Entry<Value>): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}
