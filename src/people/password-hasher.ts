import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '../domain/errors.ts';
import type { Sealer } from '../platform/sealer.ts';
import { Turns } from '../platform/turns.ts';

/**
 * Hashes of passwords: argon2id over a keyed hash, so that the table alone cannot be searched for passwords. The stored
 * text has its parameters: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`, both in base64.
 *
 * One hash takes 19 MiB and some 20 ms of a thread. Two run at a time, and a hundred may wait.
 */
const CURRENT: Parameters = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const AT_A_TIME = 2;
const MOST_WAITING = 100;
const FORMAT = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

/** As recommended by OWASP. A hash with weaker ones is replaced at the next sign-in. */
interface Parameters {
  /** In KiB. */
  memory: number;
  passes: number;
  parallelism: number;
}

const run = promisify(argon2);

export class PasswordHasher {
  readonly #sealer: Sealer;
  readonly #parameters: Parameters;
  /** A sharer alone has half of the places. */
  readonly #turns = new Turns(AT_A_TIME * 2);

  constructor(sealer: Sealer, parameters: Parameters = CURRENT) {
    this.#sealer = sealer;
    this.#parameters = parameters;
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.#derive(password, salt, this.#parameters);
    const { memory, passes, parallelism } = this.#parameters;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(salt)}$${text(hash)}`;
  }

  /** Without a stored hash it takes as long and answers false. */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const [, memory, passes, parallelism, salt, hash] = FORMAT.exec(stored ?? '') ?? [];
    if (salt === undefined || hash === undefined) {
      await this.#derive(password, Buffer.alloc(SALT_BYTES), this.#parameters);
      return false;
    }
    const parameters = {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
    };
    const expected = Buffer.from(hash, 'base64');
    const made = await this.#derive(password, Buffer.from(salt, 'base64'), parameters);
    return made.length === expected.length && timingSafeEqual(made, expected);
  }

  isWeak(stored: string): boolean {
    const [, memory, passes] = FORMAT.exec(stored) ?? [];
    return Number(memory) < this.#parameters.memory || Number(passes) < this.#parameters.passes;
  }

  #derive(password: string, nonce: Buffer, parameters: Parameters): Promise<Buffer> {
    if (this.#turns.waiting('') >= MOST_WAITING) throw new AppError('overloaded', { retry: 1 });
    // The same password typed on two systems may differ in its code points.
    const message = this.#sealer.lookupHash(`password ${password.normalize('NFKC')}`);
    return this.#turns.run('', () =>
      run('argon2id', { message, nonce, tagLength: HASH_BYTES, ...parameters }),
    );
  }
}

const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
