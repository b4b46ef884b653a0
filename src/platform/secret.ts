import { inspect } from 'node:util';

/**
 * A value that must not be shown by accident. Printed, logged, put into a text or into JSON it is `***`; only
 * `reveal()` gives it out, so that each place that shows or sends a secret says so.
 */
const MARKER = '***';

export class Secret<T> {
  #value: T | undefined;
  #open: (() => T) | undefined;

  constructor(value: T) {
    this.#value = value;
  }

  /** One that is opened when it is first asked for: where it cannot be, only that use fails. */
  static sealed<T>(open: () => T): Secret<T> {
    const secret = new Secret<T>(undefined as T);
    secret.#open = open;
    return secret;
  }

  reveal(): T {
    if (this.#open !== undefined) {
      this.#value = this.#open();
      this.#open = undefined;
    }
    return this.#value as T;
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
