/**
 * A map that holds at most `max` entries. Setting one more forgets the entry that was set longest ago.
 *
 * It is for what can be found out again, so forgetting costs a look-up and never correctness. A read costs what a
 * read of a Map costs. Forgetting by last use would be kinder to busy entries, but it makes each read a delete and an
 * insert, which costs five times as much with 10,000 ids. A busy entry is forgotten once in `max` new ones at most.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#max) this.delete(this.keys().next().value as Key);
    return this;
  }
}
