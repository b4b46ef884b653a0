/**
 * Changes to the builtins of a context before user code runs. Ways out are removed. Clock, random numbers and
 * console are replaced. A context that will be reused is frozen.
 *
 * These functions are never called here. Their text is compiled inside the isolate (see guest.ts), so they
 * may use one another and nothing else from this file. User code may later change every builtin, so code that
 * runs after set-up uses only references captured before. It uses no method of a shared prototype and no
 * iterator.
 */
/* oxlint-disable typescript/unbound-method -- captured builtins are called with Reflect.apply */

export interface GuestClock {
  nowMs: number;
}

type Loose = Record<PropertyKey, unknown>;
type AnyFunction = (...args: unknown[]) => unknown;

export function hide(owner: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: true, enumerable: false, configurable: true });
}

/** Replaces the constructor `name` with `make` wherever it can be reached. */
export function replaceConstructor(name: string, make: AnyFunction): void {
  const world = globalThis as unknown as Loose;
  const real = world[name] as { prototype: object };
  for (const key of Reflect.ownKeys(real)) {
    Object.defineProperty(make, key, Object.getOwnPropertyDescriptor(real, key) as PropertyDescriptor);
  }
  hide(real.prototype, 'constructor', make);
  hide(world, name, make);
}

export function removeWaysOut(): void {
  const world = globalThis as unknown as Loose;
  const removed = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', 'eval'];
  for (const name of removed) delete world[name];
  const samples = [() => 0, async () => 0, function* () {}, async function* () {}];
  for (const sample of samples) {
    const prototype = Reflect.getPrototypeOf(sample) as object;
    const refused = function Function() {
      throw new EvalError('code from strings is not allowed in a function');
    };
    Object.defineProperty(refused, 'prototype', { value: prototype, writable: false });
    Object.defineProperty(prototype, 'constructor', { value: refused, writable: false, configurable: false });
    if (sample === samples[0]) hide(world, 'Function', refused);
  }
  // Otherwise the last match of an earlier event would be readable there.
  for (const name of Reflect.ownKeys(RegExp)) {
    if (/^(\$.|input|last.*|left.*|right.*)$/.test(String(name))) delete (RegExp as unknown as Loose)[name];
  }
}

/** A resizable buffer bypasses the isolate's allocator, so no heap limit would count it. */
export function refuseResizableBuffers(): void {
  const RealBuffer = ArrayBuffer;
  const { construct } = Reflect;
  replaceConstructor('ArrayBuffer', function ArrayBuffer(...args: unknown[]) {
    if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
    return construct(RealBuffer, [args[0]], new.target);
  });
}

export function pinClock(clock: GuestClock): void {
  const RealDate = Date;
  const { apply, construct } = Reflect;
  const toText = RealDate.prototype.toString;
  replaceConstructor('Date', function Date(...args: unknown[]) {
    if (new.target === undefined) return apply(toText, new RealDate(clock.nowMs), []);
    return construct(RealDate, args.length === 0 ? [clock.nowMs] : args, new.target);
  });
  hide(Date, 'now', () => clock.nowMs);

  const prototype = Intl.DateTimeFormat.prototype;
  const getFormat = Object.getOwnPropertyDescriptor(prototype, 'format')?.get as () => AnyFunction;
  const toParts = prototype.formatToParts as AnyFunction;
  const format = function (this: unknown) {
    const real = apply(getFormat, this, []);
    return (date: unknown) => real(date === undefined ? clock.nowMs : date);
  };
  Object.defineProperty(prototype, 'format', { get: format, configurable: true });
  hide(prototype, 'formatToParts', function (this: unknown, date: unknown) {
    return apply(toParts, this, [date === undefined ? clock.nowMs : date]);
  });
}

export function pinTemporal(clock: GuestClock): void {
  interface Zoned {
    toPlainDateTime(): unknown;
    toPlainDate(): unknown;
    toPlainTime(): unknown;
  }
  interface TemporalLike {
    Instant: { fromEpochMilliseconds(ms: number): { toZonedDateTimeISO(zone: string): Zoned } };
  }
  const temporal = (globalThis as unknown as Loose)['Temporal'] as TemporalLike | undefined;
  if (temporal === undefined) return;
  const { Instant } = temporal;
  const zoned = (zone = 'UTC') => Instant.fromEpochMilliseconds(clock.nowMs).toZonedDateTimeISO(zone);
  hide(temporal, 'Now', {
    timeZoneId: () => 'UTC',
    instant: () => Instant.fromEpochMilliseconds(clock.nowMs),
    zonedDateTimeISO: zoned,
    plainDateTimeISO: (zone?: string) => zoned(zone).toPlainDateTime(),
    plainDateISO: (zone?: string) => zoned(zone).toPlainDate(),
    plainTimeISO: (zone?: string) => zoned(zone).toPlainTime(),
  });
}

/** Returns the function that seeds `Math.random`: xorshift with 128 bits, repeatable and not secret. */
export function pinRandom(): (seed: string) => void {
  const { imul } = Math;
  const { apply } = Reflect;
  const codeAt = String.prototype.charCodeAt;
  let [a, b, c, d] = [1, 2, 3, 4];
  const next = () => {
    const mixed = a ^ (a << 11);
    a = b;
    b = c;
    c = d;
    d = d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8);
    return d >>> 0;
  };
  const word = (seed: string, start: number) => {
    let hash = start;
    for (let i = 0; i < seed.length; i += 1) hash = imul(hash ^ apply(codeAt, seed, [i]), 16777619);
    return hash | 1;
  };
  hide(Math, 'random', () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992);
  return (seed) => {
    a = word(seed, 2166136261);
    b = word(seed, 668265263);
    c = word(seed, 374761393);
    d = word(seed, 1274126177);
    // Without these rounds the first numbers after seeding are all small.
    for (let i = 0; i < 16; i += 1) next();
  };
}

/** Converts a value to text, or returns `unshown` if the conversion throws. */
export function shower(): (value: unknown, unshown: string) => string {
  const { stringify } = JSON;
  const textOf = String;
  const RealError = Error;
  return (value, unshown) => {
    try {
      const isData = typeof value === 'object' && value !== null && !(value instanceof RealError);
      const text = isData ? stringify(value) : textOf(value);
      return typeof text === 'string' ? text : unshown;
    } catch {
      return unshown;
    }
  };
}

export interface GuestLog {
  clear(): void;
  /** The lines as the inside of a JSON array. */
  text(): string;
}

export function catchConsole(most: { lines: number; chars: number }): GuestLog {
  const { stringify } = JSON;
  const show = shower();
  let text = '';
  let lines = 0;
  let chars = 0;
  const print = (...args: unknown[]) => {
    if (lines > most.lines) return;
    let line = '';
    for (let i = 0; i < args.length && line.length <= most.chars; i += 1) {
      line += (i === 0 ? '' : ' ') + show(args[i], '[cannot be shown]');
    }
    lines += 1;
    chars += line.length;
    if (lines > most.lines || chars > most.chars) {
      lines = most.lines + 1;
      line = `log cut after ${most.lines} lines or ${most.chars} characters`;
    }
    text += (text === '' ? '' : ',') + stringify(line);
  };
  const console = {};
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace']) hide(console, name, print);
  hide(globalThis, 'console', console);
  return {
    clear() {
      text = '';
      lines = 0;
      chars = 0;
    },
    text: () => text,
  };
}

/**
 * Freezes along every property, from the global object and from objects that only syntax or instances reach
 * (prototypes of iterators, the accessors of an error's stack).
 */
export function freezeEverything(): void {
  const steps = [][Symbol.iterator]() as unknown as { map(step: () => number): unknown };
  const { Iterator } = globalThis as unknown as { Iterator: { from(source: object): unknown } };
  const segments = new Intl.Segmenter().segment('a');
  const waiting: unknown[] = [globalThis, (function* () {})(), (async function* () {})(), async () => 0];
  waiting.push(
    steps,
    steps.map(() => 0),
    Iterator.from({ next: () => ({ done: true }) }),
  );
  waiting.push(''[Symbol.iterator](), new Map().keys(), new Set().keys(), 'a'.matchAll(/a/g));
  const traced = {};
  Error.captureStackTrace(traced);
  waiting.push(segments, segments[Symbol.iterator](), new Error('for its stack'), traced);
  const seen = new Set<unknown>();
  while (waiting.length > 0) {
    const each = waiting.pop();
    const isObject = (typeof each === 'object' && each !== null) || typeof each === 'function';
    if (!isObject || seen.has(each)) continue;
    seen.add(each);
    Object.freeze(each);
    waiting.push(Reflect.getPrototypeOf(each));
    for (const key of Reflect.ownKeys(each)) {
      const property = Object.getOwnPropertyDescriptor(each, key);
      waiting.push(property?.value, property?.get, property?.set);
    }
  }
}
