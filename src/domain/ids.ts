import { randomBytes } from 'node:crypto';
import { randomText } from '../platform/random.ts';
import { AppError } from './errors.ts';

/**
 * ULIDs: 48 bits of milliseconds, 80 bits of randomness, 26 characters of Crockford's base 32. Text order is
 * time order, so an id is also a cursor and a partition key, and contains a row's creation time. Ids of one
 * factory strictly increase: within a millisecond the random part increases by a random step, and when the
 * clock steps back, or is not sure, the last time is kept. Uniqueness across nodes relies on the 80 random bits.
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
export type BatchId = Id<'batch'>;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
const MAX_STEP = 2 ** 20;
const MAX_AHEAD_MS = 10_000;
export const ID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The two characters of each ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`);
/** The value of each character, by its code. */
const VALUES = new Uint8Array(128);
for (let value = 0; value < 32; value++) VALUES[ALPHABET.charCodeAt(value)] = value;

function encode(value: number, chars: number): string {
  let text = '';
  for (let rest = value, i = 0; i < chars; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Eight characters. Bit operators take 32 bits, so the 40 are halved first. */
function encode40Bits(value: number): string {
  const high = Math.floor(value / 2 ** 20);
  const low = value - high * 2 ** 20;
  return `${PAIRS[high >> 10]}${PAIRS[high & 1023]}${PAIRS[low >> 10]}${PAIRS[low & 1023]}`;
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
  for (let i = 0; i < TIME_CHARS; i++) ms = ms * 32 + (VALUES[id.charCodeAt(i)] ?? 0);
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

/** Says whether the time of ids is known. */
interface Sureness {
  isSure(): boolean;
  /** Resolves when it is sure, or not for a while. */
  becomesSure(): Promise<boolean>;
}

const ALWAYS: Sureness = { isSure: () => true, becomesSure: () => Promise.resolve(true) };
const RETRY_SECONDS = 1;

/**
 * Generates ids with the time of `now`, which should be the database's. While it is not sure, nothing new begins: each way
 * in waits with `ready`. Work that is under way gets ids of the last sure millisecond.
 */
export class IdFactory {
  readonly #now: () => number;
  readonly #sureness: Sureness;
  #lastMs = 0;
  #timeText = '';
  /** The random part as two 40-bit halves, each within a double's exact range. */
  #high = 0;
  #low = 0;
  #pool = Buffer.alloc(0);
  #used = 0;

  constructor(now: () => number, sureness = ALWAYS) {
    this.#now = now;
    this.#sureness = sureness;
  }

  isReady(): boolean {
    return this.#sureness.isSure();
  }

  /** The next beat makes the time sure. Without one the database is away. */
  async ready(): Promise<void> {
    if (!(await this.#sureness.becomesSure()))
      throw new AppError('database_unavailable', { retry: RETRY_SECONDS });
  }

  /** How far the last id is ahead of the time: ids stand still until then. */
  get aheadMs(): number {
    return Math.max(0, this.#lastMs - this.#now());
  }

  /** The type of the id follows from the place that it is assigned to. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type comes from the caller
  next<T extends string = string>(): T {
    const ms = Math.floor(this.#now());
    if (ms > this.#lastMs && (this.#lastMs === 0 || this.isReady())) this.#startMillisecond(ms);
    else this.#countUp();
    return (this.#timeText + encode40Bits(this.#high) + encode40Bits(this.#low)) as T;
  }

  /**
   * Makes further ids greater than one that another node gave, whose clock may be ahead by its error. An id that is
   * further ahead is ignored: it would take the ids of this node along.
   */
  pass(id: string): void {
    const ms = idTime(id) + 1;
    if (ms > this.#lastMs && ms < this.#now() + MAX_AHEAD_MS) this.#startMillisecond(ms);
  }

  #startMillisecond(ms: number): void {
    this.#lastMs = ms;
    this.#timeText = encode(ms, TIME_CHARS);
    // The top bit stays clear so that increments cannot overflow within a millisecond.
    this.#high = this.#random(5) % 2 ** 39;
    this.#low = this.#random(5);
  }

  #countUp(): void {
    this.#low += 1 + (this.#random(3) % MAX_STEP);
    if (this.#low < 2 ** 40) return;
    this.#low -= 2 ** 40;
    this.#high += 1;
  }

  /** A random number of so many bytes. */
  #random(bytes: number): number {
    if (this.#used + bytes > this.#pool.length) {
      this.#pool = randomBytes(4096);
      this.#used = 0;
    }
    this.#used += bytes;
    return this.#pool.readUIntBE(this.#used - bytes, bytes);
  }
}
