import { setTimeout as pause } from 'node:timers/promises';
import { statements } from '../../src/store/database/database.ts';

/** Gives up only when the answer will not come any more: tests also run on a busy machine. */
export const GIVE_UP_MS = 300_000;

/** Pauses as a share of the wait so far. A query each 20 ms would take a tenth of a core for each test that waits. */
interface Pace {
  share: number;
  leastMs: number;
  mostMs: number;
}
/** Between a question and the next, however many signals come. */
const SPACE: Pace = { share: 0.2, leastMs: 5, mostMs: 100 };
/** Until the next question if no signal comes. A node in this process signals all its writes, another process none. */
const NEAR: Pace = { share: 0.5, leastMs: 20, mostMs: 500 };
const FAR: Pace = { share: 0.05, leastMs: 20, mostMs: 100 };
/** A node beats every 2 s. */
const NEAR_MS = 3_000;

const WRITES = /\b(insert|update|delete)\b/i;
let signalledAt = Number.NEGATIVE_INFINITY;
let next = Promise.withResolvers<void>();

statements.subscribe((text) => {
  signalledAt = performance.now();
  if (WRITES.test(text as string)) happened();
});

/** The signal for every `eventually` of this process to ask again. */
export function happened(): void {
  next.resolve();
  next = Promise.withResolvers<void>();
}

/** An answer, the pattern of a text, a test of the answer, or these for the elements of a list or for some fields. */
type Wanted<T> = T | RegExp | ((answer: T) => boolean) | WantedParts<T>;
type WantedParts<T> = T extends readonly (infer Element)[]
  ? readonly Wanted<Element>[] | { length: Wanted<number> }
  : T extends object
    ? { [Key in keyof T]?: Wanted<T[Key]> }
    : never;

/**
 * Asks until the answer is the wanted one, again with each signal: a committed write of a node in this process, a request
 * at a receiver, a line of a log. Only a test of a promised time passes `withinMs`.
 */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  withinMs?: number,
): Promise<T>;
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: NoInfer<Wanted<T>>,
  withinMs?: number,
): Promise<T>;
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: unknown,
  withinMs = GIVE_UP_MS,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    // Taken before the question: the answer may be older than a write that commits meanwhile.
    const signal = next.promise;
    const answer = await ask();
    if (satisfies(answer, wanted)) return answer;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > withinMs)
      throw new Error(`still not satisfied after ${withinMs} ms: ${JSON.stringify(answer)?.slice(0, 2000)}`);
    await paced(SPACE, waitedMs);
    await Promise.race([signal, paced(performance.now() - signalledAt < NEAR_MS ? NEAR : FAR, waitedMs)]);
  }
}

/** A wanted count. */
export const atLeast = (least: number) => (count: number) => count >= least;

/** A wanted list: so many, if a number is given, and each of them like this. */
export const every = (wanted: unknown, count?: number) => (all: readonly unknown[]) =>
  (count === undefined || all.length === count) && all.every((one) => satisfies(one, wanted));

/** A wanted list: one of it like this. */
export const some = (wanted: unknown) => (all: readonly unknown[]) =>
  all.some((one) => satisfies(one, wanted));

/** A wanted text or list with this in it. */
export const containing = (part: unknown) => (whole: string | readonly unknown[]) =>
  whole.includes(part as string);

/** A wanted answer that is no longer this one. */
export const not = (unwanted: unknown) => (answer: unknown) => answer !== unwanted;

function satisfies(answer: unknown, wanted: unknown): boolean {
  if (typeof wanted === 'function') return wanted(answer);
  if (wanted instanceof RegExp) return wanted.test(String(answer));
  if (typeof wanted !== 'object' || wanted === null) return Object.is(answer, wanted);
  if (answer === null || answer === undefined) return false;
  if (Array.isArray(wanted) && wanted.length !== (answer as unknown[]).length) return false;
  return Object.entries(wanted).every(([key, one]) => satisfies(answer[key as keyof typeof answer], one));
}

function paced({ share, leastMs, mostMs }: Pace, waitedMs: number): Promise<void> {
  return pause(Math.min(mostMs, Math.max(leastMs, waitedMs * share)));
}
