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

/**
 * Asks until the answer satisfies, again with each signal: a committed write of a node in this process, a request at a
 * receiver, a line of a log. Only a test of a promised time passes `withinMs`.
 */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  satisfied: (answer: T) => boolean,
  withinMs = GIVE_UP_MS,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    // Taken before the question: the answer may be older than a write that commits meanwhile.
    const signal = next.promise;
    const answer = await ask();
    if (satisfied(answer)) return answer;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > withinMs)
      throw new Error(`still not satisfied after ${withinMs} ms: ${JSON.stringify(answer)?.slice(0, 2000)}`);
    await paced(SPACE, waitedMs);
    await Promise.race([signal, paced(performance.now() - signalledAt < NEAR_MS ? NEAR : FAR, waitedMs)]);
  }
}

function paced({ share, leastMs, mostMs }: Pace, waitedMs: number): Promise<void> {
  return pause(Math.min(mostMs, Math.max(leastMs, waitedMs * share)));
}
