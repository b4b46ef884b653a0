import { inspect } from 'node:util';

/**
 * A value that must not be shown by accident. Printed, logged, put into a text or into JSON it is `***`; only
 * `reveal()` gives it out, so that each place that shows or sends a secret says so.
 */
const MARKER = '***';

export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return MARKER;
  }

  toJSON(): string {
    return MARKER;
  }

  [inspect.custom](): string {
    return MARKER;
  }
}
