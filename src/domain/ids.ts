import { randomBytes } from 'node:crypto';
import { randomText } from '../platform/random.ts';

/**
 * ULIDs: 48 bits of milliseconds, 80 bits of randomness, 26 characters of Crockford's base 32. Text order is
 * time order, so an id is also a cursor and a partition key, and contains a row's creation time. Ids of one
 * factory strictly increase: within a millisecond the random part increases by a random step, and when the
 * clock steps back the last time is kept. Uniqueness across nodes relies on the 80 random bits.
 */
declare const of: unique symbol;
type Id<Resource extends string> = string & { readonly [of]: Resource };

/**
 * Ids that travel together, so that one cannot be given for another: that does not compile. An id is made one by the
 * factory, a path parameter or a row of the database.
 */
export type ProjectId = Id<'project'>;
export type EndpointId = Id<'endpoint'>;
export type SubscriptionId = Id<'subscription'>;
export type SourceId = Id<'source'>;
export type EventId = Id<'event'>;
export type DeliveryId = Id<'delivery'>;
export type MetaEventId = Id<'meta event'>;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
const MAX_STEP = 2 ** 20;
const ID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

const decodeTable = new Map(Array.from(ALPHABET, (char, value) => [char, value] as const));

function encode(value: number, chars: number): string {
  let text = '';
  for (let rest = value, i = 0; i < chars; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/** An id given as text, such as a path parameter: what it is the id of follows from where it is put. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type comes from the caller
export function asId<T extends string>(text: string): T {
  return text as T;
}

/** Milliseconds since 1970 at which an id was created. */
export function idTime(id: string): number {
  let ms = 0;
  for (let i = 0; i < TIME_CHARS; i++) ms = ms * 32 + (decodeTable.get(id[i] ?? '') ?? 0);
  return ms;
}

/** The smallest id of a millisecond. Ids of that time and later compare greater or equal. */
export function firstIdAt(ms: number): string {
  return encode(Math.max(0, Math.floor(ms)), TIME_CHARS) + '0'.repeat(RANDOM_CHARS);
}

/** A new id with the time of another, for parts of a row that are created without a factory. */
export function siblingId(id: string): string {
  return id.slice(0, TIME_CHARS) + randomText(RANDOM_CHARS, ALPHABET);
}

/** Generates ids with the time of `now`, which should be the database's. */
export class IdFactory {
  readonly #now: () => number;
  #lastMs = 0;
  #timeText = '';
  /** The random part as two 40-bit halves, each within a double's exact range. */
  #high = 0;
  #low = 0;
  #pool = Buffer.alloc(0);
  #used = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What it is the id of follows from where it is put. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type comes from the caller
  next<T extends string = string>(): T {
    const ms = Math.max(Math.floor(this.#now()), this.#lastMs);
    if (ms === this.#lastMs) this.#countUp();
    else this.#startMillisecond(ms);
    const random = encode(this.#high, RANDOM_CHARS / 2) + encode(this.#low, RANDOM_CHARS / 2);
    return (this.#timeText + random) as T;
  }

  #startMillisecond(ms: number): void {
    this.#lastMs = ms;
    this.#timeText = encode(ms, TIME_CHARS);
    const bytes = this.#randomBytes(10);
    // The top bit stays clear so that increments cannot overflow within a millisecond.
    this.#high = bytes.readUIntBE(0, 5) % 2 ** 39;
    this.#low = bytes.readUIntBE(5, 5);
  }

  #countUp(): void {
    this.#low += 1 + (this.#randomBytes(3).readUIntBE(0, 3) % MAX_STEP);
    if (this.#low < 2 ** 40) return;
    this.#low -= 2 ** 40;
    this.#high += 1;
  }

  #randomBytes(count: number): Buffer {
    if (this.#used + count > this.#pool.length) {
      this.#pool = randomBytes(4096);
      this.#used = 0;
    }
    this.#used += count;
    return this.#pool.subarray(this.#used - count, this.#used);
  }
}
