import { inspect } from 'node:util';
import { SealError } from './sealer.ts';

/**
 * A value that must not be shown by accident. Printed, logged, concatenated or in JSON it is `***`. Only
 * `reveal()` returns it, so every place that shows or sends a secret is visible in the code.
 */
const MARKER = '***';

export class Secret<T> {
  #value: T | undefined;
  #open: (() => T) | undefined;

  constructor(value: T) {
    this.#value = value;
  }

  /** A secret that is decrypted on first use. If that fails, only that use fails. */
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

  /** Null if it cannot be opened. */
  revealOrNull(): T | null {
    try {
      return this.reveal();
    } catch (error) {
      if (error instanceof SealError) return null;
      throw error;
    }
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
